import type { Logger } from '../log.ts';

/** Work that is repeated until it is stopped. */
export type Loop = {
  /** Starts the next turn at once: now, or when the current one has ended. */
  wake(): void;
  /** Aborts the current turn, resolves when it has ended; no further one starts. */
  stop(): Promise<void>;
};

/** Pause before a persistent fault is reported again. */
const tell_again_ms = 60_000;

/**
 * Runs the work after `delay_ms`, and then `pause_ms` after the end of each turn. Guarantees: turns
 * never overlap. A failed turn is logged under the name, and the next one still comes. A persistent
 * fault is reported once a minute, and so is its end. `stop` aborts the signal, and later errors of
 * the work are ignored. Waiting keeps no process alive.
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

/** Reports a fault if it differs from the previous one, or was last reported long ago. */
function tellFaults(name: string, log: Logger) {
  let last: { text: string; told_at: number } | undefined;
  return {
    tell: (error: unknown) => {
      const text = error instanceof Error ? error.message : String(error);
      const now = performance.now();
      if (last?.text === text && now - last.told_at < tell_again_ms) return;
      last = { text, told_at: now };
      log.warn({ err: error }, `${name} failed; Sluice retries`);
    },
    over: () => {
      if (last !== undefined) log.info(`${name} works again`);
      last = undefined;
    },
  };
}
