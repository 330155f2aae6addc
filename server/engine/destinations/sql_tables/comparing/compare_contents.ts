import { compareRows } from '../../contents/compare_rows.ts';
import type { DeliveredSlices } from '../../../model/destination/destination.ts';
import type { Difference } from '../../../model/destination/difference.ts';
import type { ContentSource, ValueRow } from '../../../model/destination/content_source.ts';
import { openGoneSlices } from './gone_slices.ts';
import { keyColumns, mergeOf } from '../layout.ts';
import { newestRows, recordsOf } from './newest_rows.ts';

/** A table with deliveries. */
export type TablePlace = {
  /** Its name for users. */
  name: string;
  /** True if it also has deliveries of others. */
  is_shared: boolean;
  /**
   * Returns all rows that these deliveries may have written, with the values of the delivery's
   * columns as text, in bounded memory; called once or twice.
   */
  rows(): AsyncIterable<ValueRow>;
};

/**
 * Compares a table with its deliveries: row by row and column by column if the source still has
 * their rows, otherwise by the digests of their receipts. Tells the source's reader which parts
 * cannot be compared. Neither side has to fit into memory.
 */
export async function compareContents(
  place: TablePlace,
  delivered: DeliveredSlices[],
  source: ContentSource,
): Promise<Difference[]> {
  const [first] = delivered;
  if (first === undefined) return [];
  const { columns } = first.delivery;
  const merge = mergeOf(first.delivery);
  const key = keyColumns(first.delivery);
  if (key.length === 0 && place.is_shared) {
    source.note(
      `${place.name} also holds rows of other deliveries, and the rows of this export have no ` +
        'key to tell them apart. They were not compared.',
      { is_unproven: true },
    );
    return [];
  }
  const { whole, gone } = await partOf(delivered, source);
  const slices = openGoneSlices(place, gone, source);
  const unknown = merge === undefined ? undefined : whyUnknown(first, place, gone);
  const only_keys = unknown !== undefined;
  if (only_keys)
    source.note(`Rows of ${place.name} were compared by their keys only: ${unknown}`, {
      is_unproven: true,
    });
  const expected = () =>
    merge === undefined
      ? rowsOf(whole, source)
      : newestRows(first.delivery, whole, source, () => place.rows());
  const compared = only_keys
    ? columns.filter(({ name }) => key.includes(name)).map(({ name, type }) => ({ name, type }))
    : columns;
  const chosen = compared.map(({ name }) => columns.findIndex((column) => column.name === name));
  const narrowed = (rows: () => AsyncIterable<ValueRow>) => () =>
    only_keys ? withOnly(chosen, rows()) : rows();
  const differences = await compareRows({
    name: place.name,
    columns: compared,
    key,
    is_shared: place.is_shared || (gone.length > 0 && !slices.can_tell),
    records: recordsOf(delivered),
    expected: narrowed(expected),
    found: narrowed(() => slices.without(place.rows())),
    onRow: () => source.onRow(),
  });
  return [...differences, ...slices.differences()];
}

/** Returns why the greatest row of each key is unknown, or undefined. */
function whyUnknown(
  { delivery }: DeliveredSlices,
  { is_shared }: TablePlace,
  gone: DeliveredSlices[],
): string | undefined {
  if (is_shared) return 'other exports write to it too.';
  if (mergeOf(delivery)?.versions.length === 0)
    return 'without a version, the newest of several deliveries is unknown.';
  // Retention keeps the newest version of persons.
  return gone.length > 0 && delivery.merge !== undefined
    ? 'the source no longer has all rows that were delivered.'
    : undefined;
}

async function partOf(
  delivered: DeliveredSlices[],
  source: ContentSource,
): Promise<{ whole: DeliveredSlices[]; gone: DeliveredSlices[] }> {
  const whole: DeliveredSlices[] = [];
  const gone: DeliveredSlices[] = [];
  for (const one of delivered)
    ((await source.isWhole(one.delivery.delivery_id)) ? whole : gone).push(one);
  return { whole, gone };
}

async function* rowsOf(
  delivered: DeliveredSlices[],
  source: ContentSource,
): AsyncGenerator<ValueRow> {
  for (const { delivery } of delivered) yield* source.rows(delivery.delivery_id);
}

async function* withOnly(
  chosen: number[],
  rows: AsyncIterable<ValueRow>,
): AsyncGenerator<ValueRow> {
  for await (const row of rows) yield chosen.map((index) => row[index] ?? null);
}
