import { setTimeout } from 'node:timers/promises';

/** The two ways in which an item is done: with others, or by itself. */
export type Ways<Shared, Item, Result> = {
  /**
   * Does many at once without waiting for anybody; gives their results in order, undefined for
   * those that it left.
   */
  together(shared: Shared, items: Item[]): Promise<(Result | undefined)[]>;
  /** Does one, and may wait for it. */
  alone(shared: Shared, item: Item): Promise<Result>;
  /** Number of calls in one batch: each delays the others a little. Default 100. */
  items_max?: number;
  /**
   * Pause after a batch, in which the next calls collect, where one call at a time would cost too
   * much. A call that comes after the pause starts at once. Default 0.
   */
  rest_ms?: number;
};

/**
 * Gathers single calls: what comes while others are being done `together` goes together next, so
 * that the busier it is the less each one costs; but for `rest_ms` nothing waits for company.
 * Guarantees: each item is done once by `together` or left by it, and then done `alone`; so are all
 * of them when it rejects, hence the fault of one is not that of the others; what waits for
 * something alone keeps nobody waiting. `shared` is what the calls have in common, by identity.
 */
export function batchCalls<Shared extends object, Item, Result extends {}>({
  together,
  alone,
  items_max = 100,
  rest_ms = 0,
}: Ways<Shared, Item, Result>): (shared: Shared, item: Item) => Promise<Result> {
  type Call = { item: Item; done(result: Promise<Result>): void };
  const queues = new WeakMap<Shared, { waiting: Call[]; isBusy: boolean }>();
  const work = async (
    shared: Shared,
    queue: { waiting: Call[]; isBusy: boolean },
  ): Promise<void> => {
    queue.isBusy = true;
    while (queue.waiting.length > 0) {
      const calls = queue.waiting.splice(0, items_max);
      const results = await together(
        shared,
        calls.map(({ item }) => item),
      ).catch(() => []);
      for (const [index, { item, done }] of calls.entries()) {
        const result = results[index];
        done(result === undefined ? alone(shared, item) : Promise.resolve(result));
      }
      if (rest_ms > 0) await setTimeout(rest_ms);
    }
    queue.isBusy = false;
  };
  return (shared, item) =>
    new Promise((resolve) => {
      const queue = queues.get(shared) ?? { waiting: [], isBusy: false };
      queues.set(shared, queue);
      queue.waiting.push({ item, done: resolve });
      if (!queue.isBusy) void work(shared, queue);
    });
}
