import { counted } from '../../../platform/counted.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { DeliveredSlices, SliceOutcome } from '../../model/destination/destination.ts';
import type { Difference } from '../../model/destination/difference.ts';

/** The entries of the data files that readers of a table see, by name; one for each naming. */
export type ListedFiles = ReadonlyMap<string, { records: number; bytes: number }[]>;

/** Names the data files of deliveries that the table does not name exactly once, as they are. */
export function compareListed(
  live: ListedFiles,
  nameIn: (name: string) => string,
  delivered: DeliveredSlices[],
): Difference[] {
  const differences: Difference[] = [];
  for (const { delivery, outcomes } of delivered)
    for (const { name, records, bytes } of outcomes) {
      const { delivery_id } = delivery;
      const entries = live.get(nameIn(name)) ?? [];
      const [entry] = entries;
      const said = (kind: Difference['kind'], detail: string) =>
        differences.push({ kind, name, detail, delivery_id });
      if (entry === undefined)
        said('missing', 'The table does not name it: another writer removed or replaced it.');
      else if (entries.length > 1)
        said('changed', `The table names it ${entries.length} times, so readers see rows twice.`);
      else if (entry.records !== records || entry.bytes !== bytes)
        said(
          'changed',
          `The table says ${counted(entry.records, 'row')} in ${entry.bytes} bytes, the receipt ` +
            `${counted(records, 'row')} in ${bytes} bytes.`,
        );
    }
  return differences;
}

/**
 * Throws `delivery_missing` unless the table names each of the files with the size that it has: a
 * delivery that is shown can be written once more, but the entries of its files cannot change.
 */
export function requireSame(
  live: ListedFiles,
  nameIn: (name: string) => string,
  outcomes: SliceOutcome[],
): void {
  for (const { name, bytes } of outcomes)
    if (live.get(nameIn(name))?.[0]?.bytes !== bytes)
      throw new NonRetryableError(
        'delivery_missing',
        `The table does not name the file ${name} with ${bytes} bytes, so nothing was changed. ` +
          'Another writer has replaced it, or its rows are encoded differently now: deliver them ' +
          'by a backfill into a new table.',
      );
}
