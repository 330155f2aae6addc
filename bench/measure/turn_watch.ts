import { openSync, readSync } from 'node:fs';

/** The duration of a turn of the event loop, in milliseconds. */
export type Turn = {
  /**
   * The processor time of this thread, in steps of a few milliseconds. This figure counts, because
   * other load on the machine hardly changes it.
   */
  processor_ms: number;
  /**
   * The wall-clock time without the time in which this thread waited for a core. An excess over the
   * processor time is waiting for other threads: locks of memory, helpers of the garbage collector.
   */
  held_ms: number;
  wall_ms: number;
};

/**
 * Watches the turns of this thread's event loop. `longest` returns the maximum of each measure
 * since the last call. Turns within a millisecond of each other count as one.
 */
export function watchTurns(): { longest(): Turn; end(): void } {
  const account = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  const bytes = Buffer.alloc(100);
  const waited = () => {
    const read = readSync(account, bytes, 0, bytes.length, 0);
    return Number(bytes.toString('latin1', 0, read).split(' ')[1]) / 1e6;
  };
  const now = () => {
    const { user, system } = process.threadCpuUsage();
    return { at: performance.now(), waited: waited(), processor: (user + system) / 1_000 };
  };
  const nothing: Turn = { processor_ms: 0, held_ms: 0, wall_ms: 0 };
  let found = nothing;
  let before = now();
  const timer = setInterval(() => {
    const after = now();
    const wall_ms = after.at - before.at;
    const held_ms = wall_ms - (after.waited - before.waited);
    found = {
      processor_ms: Math.max(found.processor_ms, after.processor - before.processor),
      held_ms: Math.max(found.held_ms, held_ms),
      wall_ms: Math.max(found.wall_ms, wall_ms),
    };
    before = after;
  }, 1);
  return {
    longest: () => {
      const longest = found;
      found = nothing;
      before = now();
      return longest;
    },
    end: () => clearInterval(timer),
  };
}

/** Returns the head of a table of turns. */
export const turn_head = 'processor ms  held ms  clock ms';
/** Returns a row of a table of turns. */
export function turnRow({ processor_ms, held_ms, wall_ms }: Turn): string {
  return [
    processor_ms.toFixed(1).padStart(12),
    held_ms.toFixed(1).padStart(8),
    wall_ms.toFixed(1).padStart(9),
  ].join(' ');
}
