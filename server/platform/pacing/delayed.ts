const pause_ms = 1_000;

/** Work on collected items: after a second, or at once. */
export type Delayed = {
  /** Schedules the work for a second after the first call, once for all calls until then. */
  plan(): void;
  /** Runs it now; resolves when it is done. */
  store(): Promise<void>;
};

/**
 * Opens work that runs once for everything collected within a second. One run at a time, so that
 * later items do not overtake failed ones. `work` must not throw.
 */
export function openDelayed(work: () => Promise<void>): Delayed {
  let timer: NodeJS.Timeout | undefined;
  let working = Promise.resolve();
  const store = () => (working = working.then(work));
  return {
    plan: () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void store();
      }, pause_ms).unref();
    },
    store,
  };
}
