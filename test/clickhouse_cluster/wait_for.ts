/** An event that wakes the waiters for a change. */
export type Changes = {
  /** Lets all waiting callers check again. */
  tell(): void;
  /**
   * Resolves with true once `holds` returns true, and with false after this many milliseconds. It
   * calls `holds` at once, and again at each change.
   */
  until(holds: () => boolean, ms: number): Promise<boolean>;
};

/** Opens an event. */
export function openChanges(): Changes {
  const lookers = new Set<() => void>();
  return {
    tell: () => {
      for (const look of lookers) look();
    },
    until: (holds, ms) => {
      if (holds()) return Promise.resolve(true);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const end = (is_so: boolean) => {
        clearTimeout(timer);
        lookers.delete(look);
        resolve(is_so);
      };
      const look = () => {
        if (holds()) end(true);
      };
      const timer = setTimeout(() => end(holds()), Math.min(ms, 2 ** 31 - 1));
      lookers.add(look);
      return promise;
    },
  };
}

/** Runs one action after another. */
export function openLine(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work, work);
    last = mine.catch(() => undefined);
    return mine;
  };
}
