/** A bound on how much is in memory at once; whoever comes when it is used up waits, first come, first served. */
export type Budget = {
  /** Waits until `amount` is free and takes it. More than the whole budget waits until all of it is free. */
  take(amount: number): Promise<void>;
  /** Gives back exactly what one `take` was asked for. */
  give(amount: number): void;
};

/** Makes a budget of `total`. */
export function openBudget(total: number): Budget {
  let free = total;
  const waiting: { amount: number; resume: () => void }[] = [];
  const serve = () => {
    for (let first = waiting[0]; first !== undefined && free >= first.amount; first = waiting[0]) {
      waiting.shift();
      free -= first.amount;
      first.resume();
    }
  };
  return {
    take: (wanted) =>
      new Promise((resume) => {
        waiting.push({ amount: Math.min(wanted, total), resume });
        serve();
      }),
    give: (amount) => {
      free += Math.min(amount, total);
      serve();
    },
  };
}
