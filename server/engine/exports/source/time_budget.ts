/**
 * A bound on the time that is spent waiting, over several waits. The time between them does not
 * count.
 */
export type TimeBudget = {
  /** Aborted when the time is used up. */
  signal: AbortSignal;
  /**
   * The result of what is waited for, whose wait counts. It is for the work itself to end when the
   * signal is aborted.
   */
  wait<Result>(work: () => Promise<Result>): Promise<Result>;
};

/** A fresh bound of so many seconds. */
export function openTimeBudget(seconds: number): TimeBudget {
  const controller = new AbortController();
  let left_ms = seconds * 1000;
  return {
    signal: controller.signal,
    wait: async (work) => {
      const began = performance.now();
      const timer = setTimeout(() => controller.abort(), left_ms);
      try {
        return await work();
      } finally {
        clearTimeout(timer);
        left_ms -= performance.now() - began;
      }
    },
  };
}
