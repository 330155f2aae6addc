/** A bound on concurrent work; further callers wait, first come first served. */
export type Semaphore = {
  /** Number of waiting callers. */
  readonly waiting: number;
  /**
   * Waits until this many permits are free and takes them; more than the total means all of them.
   */
  take(count?: number): Promise<void>;
  /** Returns exactly the number of permits that one `take` requested. */
  give(count?: number): void;
  /** Runs the work with one permit, as soon as one is free, and returns its result. */
  run<Result>(work: () => Promise<Result>): Promise<Result>;
};

const taken = Promise.resolve();

/** Opens a bound of `total` permits: for processes, bytes, or anything countable. */
export function openSemaphore(total: number): Semaphore {
  let free = total;
  const waiting: { count: number; begin: () => void }[] = [];
  const serve = () => {
    for (let first = waiting[0]; first !== undefined && free >= first.count; first = waiting[0]) {
      waiting.shift();
      free -= first.count;
      first.begin();
    }
  };
  const take = (count = 1) => {
    const wanted = Math.min(count, total);
    if (waiting.length === 0 && free >= wanted) {
      free -= wanted;
      return taken;
    }
    return new Promise<void>((begin) => {
      waiting.push({ count: wanted, begin });
    });
  };
  const give = (count = 1) => {
    free += Math.min(count, total);
    serve();
  };
  return {
    get waiting() {
      return waiting.length;
    },
    take,
    give,
    run: async (work) => {
      await take();
      try {
        return await work();
      } finally {
        give();
      }
    },
  };
}
