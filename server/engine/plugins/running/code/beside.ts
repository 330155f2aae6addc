/** Runs work in parallel, or alone. */
export type Beside = {
  /**
   * Runs it in parallel to others. After a failure that others may have caused, it runs once more,
   * alone.
   */
  run<Result>(work: () => Promise<Result>, isUnclear: (error: unknown) => boolean): Promise<Result>;
};

const over = (): void => undefined;

/** Opens an idle runner. */
export function openBeside(): Beside {
  type Open = { was_beside: boolean; ended: Promise<unknown> };
  const open = new Set<Open>();
  let alone: Promise<void> | undefined;
  const run = async <Result>(work: () => Promise<Result>, own: Open): Promise<Result> => {
    own.was_beside = open.size > 0;
    for (const other of open) other.was_beside = true;
    open.add(own);
    const result = work().finally(() => open.delete(own));
    own.ended = result.catch(() => undefined);
    return result;
  };
  const runAlone = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const before = alone;
    const result = (async () => {
      await before;
      await Promise.all([...open].map(({ ended }) => ended));
      return work();
    })();
    const ended: Promise<void> = result.then(over, over);
    alone = ended;
    void forget(ended);
    return result;
  };
  const forget = async (ended: Promise<void>): Promise<void> => {
    await ended;
    if (alone === ended) alone = undefined;
  };
  return {
    run: async (work, isUnclear) => {
      while (alone !== undefined) await alone;
      const own: Open = { was_beside: false, ended: Promise.resolve() };
      try {
        return await run(work, own);
      } catch (error) {
        if (!own.was_beside || !isUnclear(error)) throw error;
      }
      return runAlone(work);
    },
  };
}
