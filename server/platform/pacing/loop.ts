import type { Logger } from '../log.ts';

/** Work that is done again and again until it is stopped. */
export type Loop = {
  /** Begins the next turn at once: now, or as soon as the one under way has ended. */
  wake(): void;
  /** Tells the turn under way, resolves when it has ended; there is no further one. */
  stop(): Promise<void>;
};

/** Pause before a lasting fault is reported again. */
const tell_again_ms = 60_000;

/**
 * Does the work after `delay_ms` and then `pause_ms` after the end of each turn. Guarantees: turns
 * never overlap; one that fails is logged under the name, and the next one comes all the same; a
 * fault that lasts is told once a minute, and its end; the signal ends with `stop`, and what the
 * work throws then is no fault; waiting keeps no process alive.
 */
export function startLoop(
  name: string,
  pause_ms: number,
  log: Logger,
  work: (signal: AbortSignal) => Promise<unknown>,
  delay_ms = 0,
): Loop {
  const stopping = new AbortController();
  const { signal } = stopping;
  let isWoken = false;
  let wakeUp = () => {};
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, isWoken ? 0 : ms).unref();
      wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const faults = tellFaults(name, log);
  const run = async () => {
    if (delay_ms > 0) await pause(delay_ms);
    while (!signal.aborted) {
      isWoken = false;
      try {
        await work(signal);
        faults.over();
      } catch (error) {
        if (!signal.aborted) faults.tell(error);
      }
      if (!signal.aborted) await pause(pause_ms);
    }
  };
  const done = run();
  const wake = () => {
    isWoken = true;
    wakeUp();
  };
  return {
    wake,
    stop: async () => {
      stopping.abort();
      wake();
      await done;
    },
  };
}

/** Tells a fault when it is another one than before, or was told long ago. */
function tellFaults(name: string, log: Logger) {
  let last: { text: string; told_at: number } | undefined;
  return {
    tell: (error: unknown) => {
      const text = error instanceof Error ? error.message : String(error);
      const now = performance.now();
      if (last?.text === text && now - last.told_at < tell_again_ms) return;
      last = { text, told_at: now };
      log.warn({ err: error }, `${name} failed and is tried again`);
    },
    over: () => {
      if (last !== undefined) log.info(`${name} works again`);
      last = undefined;
    },
  };
}
