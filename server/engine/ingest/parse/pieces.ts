/**
 * Number of items that are passed at once: few enough that reading and receiving them delays
 * nobody.
 */
const items_max = 500;
const bytes_max = 256 * 1024;
const reading_ms_max = 10;

/** A group of read items, and whether it is the last one. */
export type Piece<Item> = { reads: Item[]; is_last: boolean };

/** Returns the next group of read items; `bytesOf` returns the size of an item. */
export function nextPiece<Item>(
  items: Iterator<Item>,
  bytesOf: (item: Item) => number,
): Piece<Item> {
  const reads: Item[] = [];
  const ends_at = performance.now() + reading_ms_max;
  let bytes = 0;
  while (reads.length < items_max && bytes < bytes_max && performance.now() < ends_at) {
    const { done, value } = items.next();
    if (done === true) return { reads, is_last: true };
    reads.push(value);
    bytes += bytesOf(value);
  }
  return { reads, is_last: false };
}

/** Yields all groups on demand; `drop` deletes the rest. */
export async function* eachPiece<Item>(
  more: () => Promise<Piece<Item>>,
  drop: () => void,
): AsyncGenerator<Item[]> {
  let is_last = false;
  try {
    while (!is_last) {
      const piece = await more();
      ({ is_last } = piece);
      yield piece.reads;
    }
  } finally {
    if (!is_last) drop();
  }
}
