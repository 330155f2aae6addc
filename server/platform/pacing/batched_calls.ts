import { setTimeout } from 'node:timers/promises';

/** The two ways to process an item: with others, or alone. */
export type Ways<Shared, Item, Result> = {
  /**
   * Processes many at once without waiting for locks; returns their results in order, undefined for
   * skipped ones.
   */
  together(shared: Shared, items: Item[]): Promise<(Result | undefined)[]>;
  /** Processes one, and may wait for a lock. */
  alone(shared: Shared, item: Item): Promise<Result>;
  /** Number of calls in one batch: each delays the others a little. Default 100. */
  items_max?: number;
  /**
   * Pause after a batch, in which the next calls gather, for calls that would be too expensive one
   * at a time. A call that comes after the pause starts at once. Default 0.
   */
  rest_ms?: number;
};

/**
 * Batches single calls: calls that arrive during a batch form the next one, so that each costs less
 * as the load grows. Except for `rest_ms`, a call never waits for others to join it. Guarantees:
 * `together` processes each item once or skips it, and a skipped item is processed `alone`. If
 * `together` rejects, so are all of them, so the fault of one does not affect the others. An item
 * that waits alone delays nobody. `shared` is the common context of the calls, compared by
 * identity.
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
