import { hash } from 'node:crypto';
import { counted } from '../../../platform/counted.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { DeliveredSlices, Seal, SliceOutcome } from '../../model/destination/destination.ts';
import type { Difference } from '../../model/destination/difference.ts';

/** A data file as a table names it, and other writers' delete files that hide rows of it. */
export type ListedFile = { records: number; bytes: number; deletes?: readonly string[] };

/** The entries of the data files that readers of a table see, by name; one for each occurrence. */
export type ListedFiles = ReadonlyMap<string, ListedFile[]>;

/** Returns a sentence if readers do not see all rows of a file; undefined if they do. */
export function hiddenRows({ deletes = [] }: ListedFile): string | undefined {
  const [first] = deletes;
  return first === undefined
    ? undefined
    : `Another writer has deleted rows of it with ${counted(deletes.length, 'delete file')} ` +
        `such as ${first}, so readers see fewer rows.`;
}

/** Names the data files of deliveries that the table does not name exactly once and unchanged. */
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
      else if (hiddenRows(entry) !== undefined) said('changed', hiddenRows(entry)!);
    }
  return differences;
}

/** Slices of a delivery that moved to another file; null: an erasure removed all of them. */
export type MovedSlice = { delivery_id: string; successor: { name: string; at: string } | null };

/**
 * Returns the seals of deliveries in a table: the place's facts about their files, their entries in
 * the table, and the files that have their rows now.
 */
export async function sealListed(
  files: ReadonlyMap<string, Seal> | undefined,
  live: ListedFiles,
  nameIn: (name: string) => string,
  { own, moved }: { own: DeliveredSlices[]; moved: MovedSlice[] },
  writtenAt: (name: string) => Promise<number | undefined>,
): Promise<Map<string, Seal> | undefined> {
  if (files === undefined) return undefined;
  const written = new Map<string, Promise<number | undefined>>();
  const texts = new Map<string, string[]>();
  const missing = new Set<string>();
  for (const { delivery_id, successor } of moved) {
    if (successor === null) continue;
    const { name, at } = successor;
    if (!written.has(at)) written.set(at, writtenAt(at));
    const time = await written.get(at);
    const entries = live.get(name) ?? [];
    const is_whole = entries.length === 1 && hiddenRows(entries[0]!) === undefined;
    if (time === undefined || !is_whole) missing.add(delivery_id);
    const text = `${name} ${time} ${JSON.stringify(entries.map(entryOf))}`;
    texts.set(delivery_id, [...(texts.get(delivery_id) ?? []), text]);
  }
  return new Map(
    own.map((one) => {
      const { delivery_id } = one.delivery;
      const file = files.get(delivery_id);
      const entries = one.outcomes.map(({ name }) => (live.get(nameIn(name)) ?? []).map(entryOf));
      const text = [file?.text, JSON.stringify(entries), ...(texts.get(delivery_id) ?? [])];
      const isExpected = async () =>
        !missing.has(delivery_id) &&
        compareListed(live, nameIn, [one]).length === 0 &&
        (await file?.isExpected()) === true;
      return [delivery_id, { text: hash('sha256', text.join('\n')), isExpected }];
    }),
  );
}

const entryOf = ({ records, bytes, deletes = [] }: ListedFile) => [records, bytes, ...deletes];

/**
 * Throws `delivery_missing` unless the table names each of the files with its size: a shown
 * delivery can be rewritten, but the entries of its files cannot change.
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
