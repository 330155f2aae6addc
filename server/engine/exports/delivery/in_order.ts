import { availableParallelism } from 'node:os';

/** Work of all runs of this process at most, before a run begins an item ahead of its turn. */
const in_progress_max = Math.max(2, availableParallelism());
let in_progress = 0;

/** Work on items that end in order. */
type Work<Item, Begun> = {
  items: readonly Item[];
  /** The most items of this work that are in progress at the same time. */
  abreast_max: number;
  begin(item: Item): Begun;
  /** Waits for an item, and keeps its result. */
  wait(item: Item, begun: Begun): Promise<void>;
  /** Stops items in progress, and waits for their end. */
  end(begun: Begun[]): Promise<unknown>;
};

/**
 * Works on items one after the other, and begins the next one ahead while the processors of this
 * machine are not all busy with others. So the memory of a busy process does not grow. Guarantee:
 * it waits for items in order. If one fails, no other begins, and the later ones are stopped before
 * it rejects.
 */
export async function inOrder<Item, Begun extends { written: Promise<unknown> }>({
  items,
  abreast_max,
  begin,
  wait,
  end,
}: Work<Item, Begun>): Promise<void> {
  const begun = new Map<Item, Begun>();
  let hasFailed = false;
  const start = (item: Item) => {
    const one = begin(item);
    in_progress += 1;
    begun.set(item, one);
    one.written.catch(() => (hasFailed = true)).finally(() => (in_progress -= 1));
    return one;
  };
  try {
    for (const [at, item] of items.entries()) {
      const one = begun.get(item) ?? start(item);
      const next = items[at + 1];
      const isFree = begun.size < abreast_max && in_progress < in_progress_max;
      if (next !== undefined && isFree && !hasFailed) start(next);
      begun.delete(item);
      await wait(item, one);
    }
  } catch (error) {
    if (begun.size > 0) await end([...begun.values()]).catch(() => undefined);
    throw error;
  }
}
