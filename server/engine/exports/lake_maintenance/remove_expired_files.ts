import sql from 'sql-template-tag';
import { parseDeliveryName } from '../../destinations/formats/naming.ts';
import { reloaded } from './maintained_table.ts';
import type { MaintainedTable } from './maintained_table.ts';
import { eachOf, filesIn, liveLists, manifestsIn } from './reached_files.ts';

/** Number of expired snapshots whose files are removed in one batch. */
const snapshots_max = 2_000;

type Expired = { snapshot_id: string; manifest_list: string; statistics: string[] };

/**
 * Removed files by kind; undefined: nothing was removed, because a run in progress may still use
 * some.
 */
export type RemovedFiles = { data: number; metadata: number } | undefined;

/**
 * Removes the files that only expired snapshots reached. Guarantees: an earlier commit has removed
 * the snapshots; it removes no file of a remaining snapshot and none outside the table's folder. It
 * may be repeated after a crash, because lists are removed last.
 */
export async function removeExpiredFiles(one: MaintainedTable): Promise<RemovedFiles> {
  const { engine, table, files } = one;
  const expired = await engine.db.rows<Expired>(sql`
    SELECT snapshot_id::text, manifest_list, statistics FROM lake_expired_snapshots
    WHERE table_id = ${table.id}::uuid AND manifest_list IS NOT NULL
    ORDER BY number LIMIT ${snapshots_max}`);
  if (expired.length === 0 || !one.rules.removes_files || (await sharesFolder(one)))
    return { data: 0, metadata: 0 };
  const lists = await liveLists(one);
  const live = await manifestsIn(files, lists);
  const old = await manifestsIn(
    files,
    expired.map(({ manifest_list }) => manifest_list),
    true,
  );
  const left = [...old.values()].filter(({ manifest_path }) => !live.has(manifest_path));
  const shown = await filesIn(files, left, true);
  // The files of the other manifests are only needed if something can be removed.
  const kept = shown.size === 0 ? shown : await filesIn(files, live.values());
  const data = [...shown].filter((uri) => !kept.has(uri));
  if (await hasOpenRun(one, data)) return undefined;
  const named = new Set([...lists, ...(await statisticsOf(one))]);
  const small = [
    ...left.map(({ manifest_path }) => manifest_path),
    ...expired.flatMap(({ statistics }) => statistics),
    ...expired.map(({ manifest_list }) => manifest_list),
  ].filter((uri) => !named.has(uri));
  // Lists lead to the other files, so after a crash they still show what is left.
  const removed = { data: 0, metadata: 0 };
  removed.data = await removeBelow(one, data);
  removed.metadata = await removeBelow(one, small);
  await engine.db.run(sql`
    UPDATE lake_expired_snapshots SET manifest_list = NULL, statistics = '{}'
    WHERE table_id = ${table.id}::uuid
      AND snapshot_id = ANY (${expired.map(({ snapshot_id }) => snapshot_id)}::bigint[])`);
  return removed;
}

/** Removes the files below the table, each kind in its order. */
export async function removeBelow(
  { table, files }: MaintainedTable,
  uris: readonly string[],
): Promise<number> {
  const own = uris.filter((uri) => uri.startsWith(`${table.location}/`));
  await eachOf(own, (uri) => files.remove(uri));
  return own.length;
}

/** Another table of the catalog lies in the same folder, so its files cannot be told apart. */
export async function sharesFolder({ engine, table }: MaintainedTable): Promise<boolean> {
  const row = await engine.db.row(sql`SELECT 1 FROM lake_tables other
    WHERE other.id <> ${table.id}::uuid AND (starts_with(other.location || '/', ${table.location}
      || '/') OR starts_with(${table.location} || '/', other.location || '/')) LIMIT 1`);
  return row !== undefined;
}

/** A retried run finds its files and shows them, so they must stay. */
export async function hasOpenRun(
  { engine, table }: MaintainedTable,
  uris: readonly string[],
): Promise<boolean> {
  const ends = [...new Set(uris.map(deliveryEndOf).filter((end) => end !== undefined))];
  if (ends.length === 0) return false;
  const row = await engine.db.row(sql`SELECT 1 FROM batch_export_runs
    WHERE team_id = ${table.team_id} AND status IN ('Starting', 'Running')
      AND right(delivery_id::text, 12) = ANY (${ends}::text[]) LIMIT 1`);
  return row !== undefined;
}

/** Returns the end of the delivery's id in the name of a slice; undefined for another file. */
export function deliveryEndOf(uri: string): string | undefined {
  const name = parseDeliveryName(uri);
  return name?.is_receipt === false ? name.delivery : undefined;
}

/** Returns the statistics files that the table names now. */
async function statisticsOf(one: MaintainedTable): Promise<string[]> {
  const metadata = (await reloaded(one))?.metadata;
  return [...(metadata?.statistics ?? []), ...(metadata?.['partition-statistics'] ?? [])].map(
    (entry) => String(entry['statistics-path']),
  );
}
