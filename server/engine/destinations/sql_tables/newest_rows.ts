import { crc32 } from 'node:zlib';
import type { DeliveredSlices } from '../../model/destination/destination.ts';
import type { ContentSource, ValueRow } from '../../model/destination/content_source.ts';
import { keyColumn, versionColumns } from './layout.ts';
import type { Layout } from './layout.ts';

/** Number of persons that are held at a time; beyond it the source is read several times. */
const held_max = 200_000;

/**
 * Yields for each person the one row that all deliveries together leave: the row of the highest
 * versions, of equal ones the later. The memory is that of 200,000 rows.
 */
export async function* newestRows(
  layout: Layout,
  delivered: DeliveredSlices[],
  source: ContentSource,
): AsyncGenerator<ValueRow> {
  const at = layout.columns.findIndex(({ name }) => name === keyColumn(layout));
  const versions = versionColumns(layout).map((version) =>
    layout.columns.findIndex(({ name }) => name === version),
  );
  const parts = Math.max(1, Math.ceil(recordsOf(delivered) / held_max));
  for (let part = 0; part < parts; part += 1) {
    const newest = new Map<string, ValueRow>();
    for (const { delivery } of delivered) {
      for await (const row of source.rows(delivery.delivery_id)) {
        const key = row[at] ?? '';
        if (parts > 1 && crc32(key) % parts !== part) continue;
        const other = newest.get(key);
        if (other === undefined || !isOlder(row, other, versions)) newest.set(key, row);
      }
    }
    yield* newest.values();
  }
}

/** Counts the rows of deliveries. */
export function recordsOf(delivered: DeliveredSlices[]): number {
  return delivered.reduce(
    (sum, { outcomes }) => sum + outcomes.reduce((rows, outcome) => rows + outcome.records, 0),
    0,
  );
}

function isOlder(row: ValueRow, other: ValueRow, versions: number[]): boolean {
  for (const version of versions) {
    const [one, two] = [BigInt(row[version] ?? -1), BigInt(other[version] ?? -1)];
    if (one !== two) return one < two;
  }
  return false;
}
