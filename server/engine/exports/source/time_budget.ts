/**
 * A bound on the total waiting time over several waits. The time between the waits does not count.
 */
export type TimeBudget = {
  /** Aborted when the time is used up. */
  signal: AbortSignal;
  /**
   * Waits for the result of `work` and counts the time. The work itself must end when the signal
   * aborts.
   */
  wait<Result>(work: () => Promise<Result>): Promise<Result>;
};

/** Opens a budget of this many seconds. */
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
