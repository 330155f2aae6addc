import sql from 'sql-template-tag';
import type { Transaction } from '../../../platform/postgres/database.ts';

/**
 * The snapshots of a table and their log, each as the inside of a JSON list, and up to which row
 * of how many they were read.
 */
export type SnapshotTexts = { snapshots: Joined; log: Joined };

type Joined = { text: string; count: number; last: number };

const nothing: Joined = { text: '', count: 0, last: 0 };
const characters_max = 32 * 1024 * 1024;

const of_snapshots = {
  table: sql`lake_snapshots`,
  text: sql`snapshot`,
};
const of_log = {
  table: sql`lake_snapshot_log`,
  text: sql`format('{"snapshot-id":%s,"timestamp-ms":%s}', snapshot_id, timestamp_ms)`,
};

/**
 * Reads the snapshots of a held table and their log, as they are stored by now. Only those are read
 * that came after `known`, unless some of it are gone.
 */
export async function readTexts(
  tx: Transaction,
  table_id: string,
  known: SnapshotTexts | undefined,
): Promise<SnapshotTexts> {
  return {
    snapshots: await readJoined(tx, table_id, of_snapshots, known?.snapshots),
    log: await readJoined(tx, table_id, of_log, known?.log),
  };
}

/** Leans on the indexes by number. */
async function readJoined(
  tx: Transaction,
  table_id: string,
  { table, text }: typeof of_log,
  known: Joined = nothing,
): Promise<Joined> {
  const row = await tx.row<{ before: number; text: string | null; count: number; last: number }>(
    sql`SELECT (SELECT count(*) FROM ${table}
        WHERE table_id = ${table_id}::uuid AND number <= ${known.last}) AS before,
      string_agg(${text}, ',' ORDER BY number) AS text, count(*) AS count,
      coalesce(max(number), ${known.last}) AS last
      FROM ${table} WHERE table_id = ${table_id}::uuid AND number > ${known.last}`,
  );
  const { before, count, last } = row!;
  if (before !== known.count) return readJoined(tx, table_id, { table, text });
  return {
    text: [known.text, row!.text ?? ''].filter((one) => one !== '').join(','),
    count: known.count + count,
    last,
  };
}

/**
 * Remembers the texts of the latest commits of this process, by the URI of their metadata file: the
 * next commit then reads no snapshot again. A file that no transaction has named is never asked
 * for. Bounded to 32 Mi characters; the oldest go first.
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
    /** The texts of the first of these files that are known, and its URI. */
    find(uris: readonly string[]): { uri?: string; texts?: SnapshotTexts } {
      for (const uri of uris) {
        const texts = known.get(uri);
        if (texts !== undefined) return { uri, texts };
      }
      return {};
    },
    /** Keeps the texts of a file in the place of those of another. */
    keep(uri: string, texts: SnapshotTexts, before: string | undefined) {
      if (before !== undefined) drop(before);
      known.set(uri, texts);
      characters += sizeOf(texts);
      for (const [oldest] of known) if (characters > characters_max) drop(oldest);
    },
  };
}
