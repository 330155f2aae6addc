import { crc32 } from 'node:zlib';
import { canonicalValue } from '../../contents/canonical.ts';
import { rowText } from '../../contents/compare_rows.ts';
import type { DeliveredSlices } from '../../../model/destination/destination.ts';
import type { ContentSource, ValueRow } from '../../../model/destination/content_source.ts';
import { mergeOf } from '../layout.ts';
import type { Layout } from '../layout.ts';

/** Number of keys that are held at a time; beyond it, the source is read several times. */
const held_max = 200_000;

/**
 * Yields for each key the one row that remains of all deliveries: the row of the greatest versions.
 * Each database orders rows of equal versions differently, so the one that `found` contains is
 * correct. Memory holds 200,000 rows.
 */
export async function* newestRows(
  layout: Layout,
  delivered: DeliveredSlices[],
  source: ContentSource,
  found: () => AsyncIterable<ValueRow>,
): AsyncGenerator<ValueRow> {
  const words = wordsOf(layout);
  const parts = Math.max(1, Math.ceil(recordsOf(delivered) / held_max));
  for (let part = 0; part < parts; part += 1) {
    const newest = new Map<string, ValueRow[]>();
    for (const { delivery } of delivered) {
      for await (const row of source.rows(delivery.delivery_id)) {
        const key = words.keyOf(row);
        if (parts > 1 && crc32(key) % parts !== part) continue;
        const others = newest.get(key);
        const order = others === undefined ? 1 : words.compare(row, others[0]!);
        if (order > 0) newest.set(key, [row]);
        else if (order === 0 && others!.every((other) => words.textOf(other) !== words.textOf(row)))
          others!.push(row);
      }
    }
    await chooseFound(newest, words, found);
    for (const [row] of newest.values()) yield row!;
  }
}

type Words = {
  keyOf(row: ValueRow): string;
  textOf(row: ValueRow): string;
  /** Returns a positive number if the first row has greater versions. */
  compare(one: ValueRow, other: ValueRow): number;
};

function wordsOf(layout: Layout): Words {
  const { key = [], versions = [] } = mergeOf(layout) ?? {};
  const at = (name: string) => layout.columns.findIndex((column) => column.name === name);
  const value = (row: ValueRow, index: number) =>
    canonicalValue(layout.columns[index]!.type, row[index] ?? null);
  const [keys, ranks] = [key.map(at), versions.map(at)];
  return {
    keyOf: (row) => rowText(keys.map((index) => value(row, index))),
    textOf: (row) => rowText(layout.columns.map((_, index) => value(row, index))),
    compare: (one, other) => {
      for (const index of ranks) {
        const [first, second] = [value(one, index), value(other, index)];
        if (first !== second) return isGreater(first, second) ? 1 : -1;
      }
      return 0;
    },
  };
}

/**
 * Returns true if the first of two whole numbers, or of two instants, is greater. Null is the
 * lowest.
 */
function isGreater(one: string | null, other: string | null): boolean {
  if (one === null || other === null) return other === null;
  return /^-?\d+$/.test(one) && /^-?\d+$/.test(other) ? BigInt(one) > BigInt(other) : one > other;
}

/** Moves the table's row to the front, if it is one of several with equal versions. */
async function chooseFound(
  newest: Map<string, ValueRow[]>,
  { keyOf, textOf }: Words,
  found: () => AsyncIterable<ValueRow>,
): Promise<void> {
  if (![...newest.values()].some((rows) => rows.length > 1)) return;
  for await (const row of found()) {
    const rows = newest.get(keyOf(row));
    if (rows === undefined || rows.length === 1) continue;
    const same = rows.find((one) => textOf(one) === textOf(row));
    if (same !== undefined) rows.unshift(same);
  }
}

/** Counts the rows of deliveries. */
export function recordsOf(delivered: DeliveredSlices[]): number {
  return delivered.reduce(
    (sum, { outcomes }) => sum + outcomes.reduce((rows, outcome) => rows + outcome.records, 0),
    0,
  );
}
