const pause_ms = 1_000;

/** Work on what was collected: after a second, or at once. */
export type Delayed = {
  /** Has the work done a second after the first call, once for all calls until then. */
  plan(): void;
  /** Does it now; resolves when it is done. */
  store(): Promise<void>;
};

/**
 * Opens work that is done once for all that is noted within a second. One at a time, so that what
 * fails is not overtaken by what came later. `work` must not throw.
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
