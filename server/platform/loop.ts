import type { Logger } from './log.ts';

/** Work that is done again and again until it is stopped. */
export type Loop = {
  /** Begins the next turn at once: now, or as soon as the one under way has ended. */
  wake(): void;
  /** Resolves when the turn under way has ended; there is no further one. */
  stop(): Promise<void>;
};

/** Does the work at once and then `pause_ms` after the end of each turn. A turn that fails is logged under the name, and the next one comes all the same. */
export function startLoop(
  name: string,
  pause_ms: number,
  log: Logger,
  work: () => Promise<void>,
): Loop {
  let isStopping = false;
  let isWoken = false;
  let wakeUp = () => {};
  const pause = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, isWoken ? 0 : pause_ms);
      wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const run = async () => {
    while (!isStopping) {
      isWoken = false;
      await work().catch((error: unknown) =>
        log.warn({ err: error }, `${name} failed and is tried again`),
      );
      if (!isStopping) await pause();
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
      isStopping = true;
      wake();
      await done;
    },
  };
}
