import sql from 'sql-template-tag';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { continuePacked, nothing_packed } from './packed_text.ts';
import type { Packed } from './packed_text.ts';

/**
 * The snapshots of a table and their log, each as the inside of a JSON list, up to the last read
 * row. `expiries` is the table's counter at that time: the rows only grow until it changes.
 */
export type SnapshotTexts = { expiries: number; snapshots: Joined; log: Joined };

/** `added` is the end of the text, which `packed` does not contain yet. */
type Joined = { text: string; last: number; packed?: Packed; added: string };

const nothing: Joined = { text: '', last: 0, added: '' };
const characters_max = 32 * 1024 * 1024;

/**
 * Reads the stored snapshots of a locked table and their log that are newer than `known`. Uses the
 * indexes by number.
 */
export async function readTexts(
  tx: Transaction,
  { id, expiries }: { id: string; expiries: number },
  known: SnapshotTexts | undefined,
): Promise<SnapshotTexts> {
  const { snapshots, log } = known ?? { snapshots: nothing, log: nothing };
  const row = await tx.row<Record<'added' | 'logged', string | null> & Record<'s' | 'l', number>>(
    sql`SELECT s.text AS added, coalesce(s.last, ${snapshots.last}) AS s,
      l.text AS logged, coalesce(l.last, ${log.last}) AS l
    FROM (SELECT string_agg(snapshot, ',' ORDER BY number) AS text, max(number) AS last
      FROM lake_snapshots WHERE table_id = ${id}::uuid AND number > ${snapshots.last}) s,
    (SELECT string_agg(format('{"snapshot-id":%s,"timestamp-ms":%s}', snapshot_id, timestamp_ms),
        ',' ORDER BY number) AS text, max(number) AS last
      FROM lake_snapshot_log WHERE table_id = ${id}::uuid AND number > ${log.last}) l`,
  );
  const { added, logged, s, l } = row!;
  return {
    expiries,
    snapshots: continued(snapshots, added ?? '', s),
    log: continued(log, logged ?? '', l),
  };
}

function continued(before: Joined, added: string, last: number): Joined {
  if (added === '') return { ...before, last };
  const more = before.text === '' ? added : `,${added}`;
  return { ...before, text: before.text + more, added: before.added + more, last };
}

/**
 * Compresses the text of snapshots after `head`; only the text added since the last call is
 * compressed.
 */
export async function packSnapshots(joined: Joined, head: string): Promise<Packed> {
  const { packed, added } = joined;
  joined.packed = await (packed === undefined
    ? continuePacked(nothing_packed, head + added)
    : continuePacked(packed, added));
  joined.added = '';
  return joined.packed;
}

/**
 * Caches the texts of this process's latest commits by the URI of their metadata file, so that the
 * next commit reads no snapshot again. Entries of rolled-back transactions are never requested.
 * Bounded to 32 Mi characters; the oldest entries go first.
 */
export function openTextCache() {
  const known = new Map<string, SnapshotTexts>();
  let characters = 0;
  const sizeOf = ({ snapshots, log }: SnapshotTexts) => snapshots.text.length + log.text.length;
  const drop = (uri: string) => {
    const texts = known.get(uri);
    if (texts !== undefined) characters -= sizeOf(texts);
    known.delete(uri);
  };
  return {
    /** Returns the texts of the first of these files that are still valid, and its URI. */
    find(uris: readonly string[], expiries: number): { uri?: string; texts?: SnapshotTexts } {
      for (const uri of uris) {
        const texts = known.get(uri);
        if (texts?.expiries === expiries) return { uri, texts };
      }
      return {};
    },
    /** Stores the texts of a file in place of an earlier file's. */
    keep(uri: string, texts: SnapshotTexts, before: string | undefined) {
      if (before !== undefined) drop(before);
      known.set(uri, texts);
      characters += sizeOf(texts);
      for (const [oldest] of known) if (characters > characters_max) drop(oldest);
    },
  };
}
