import { setTimeout } from 'node:timers/promises';
import type { Logger } from './log.ts';

/** Work that a process does again and again by itself. `work` may be stopped in the middle by the signal, and other processes may do the same at the same time. */
export type Chore = {
  name: string;
  interval_ms: number;
  work(signal: AbortSignal): Promise<unknown>;
};

/**
 * Does every chore at once and then again, each `interval_ms` after it ended. Guarantees: a chore never overlaps itself and none waits for another; a fault is logged and the chore
 * goes on; the waiting keeps no process alive; after `stop` has settled nothing runs any more.
 */
export function startChores(chores: Chore[], log: Logger): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const ended = chores.map((chore) => repeat(chore, stopping.signal, log));
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(ended);
    },
  };
}

async function repeat(
  { name, interval_ms, work }: Chore,
  signal: AbortSignal,
  log: Logger,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await work(signal);
    } catch (error) {
      if (!signal.aborted)
        log.warn({ err: error, chore: name }, 'a chore failed; it is tried again');
    }
    // Rejects when it is stopped, which is what ends the waiting.
    await setTimeout(interval_ms, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
