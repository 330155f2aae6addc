/**
 * Number of items that are handed over at once: few enough that reading and receiving them delays
 * nobody.
 */
const items_max = 500;
const bytes_max = 256 * 1024;
const reading_ms_max = 10;

/** A part of what was read, and whether nothing follows. */
export type Piece<Item> = { reads: Item[]; is_last: boolean };

/** The next of what is read; `bytesOf` says how much an item is. */
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

/** All pieces, each when it is wanted; `drop` forgets those that nobody wants any more. */
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
