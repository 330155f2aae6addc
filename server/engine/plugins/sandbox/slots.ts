/** A number of places at which work is done. */
export type Slots = {
  /** Does the work when a place is free, in the order of asking, and gives what it gives. */
  run<Result>(work: () => Promise<Result>): Promise<Result>;
};

/** Opens `count` places. */
export function openSlots(count: number): Slots {
  let free = count;
  const waiting: (() => void)[] = [];
  return {
    run: async (work) => {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next === undefined) free += 1;
        else next();
      }
    },
  };
}
