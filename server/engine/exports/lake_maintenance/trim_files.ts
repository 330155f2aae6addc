import sql from 'sql-template-tag';
import type { LakeTable } from '../../model/lake_catalog/tables.ts';
import { folderPart, lastPart } from '../../destinations/formats/naming.ts';
import { reloaded } from './maintained_table.ts';
import type { MaintainedTable } from './maintained_table.ts';
import { filesIn, liveLists, manifestsIn } from './reached_files.ts';
import { deliveryEndOf, hasOpenRun, removeBelow, sharesFolder } from './remove_expired_files.ts';

/** No write takes longer; a younger file may still be committed. */
const write_ms_max = 3 * 24 * 3_600_000;

/** File names that only this server gives, and names that others give too. */
const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const metadata_name = new RegExp(`^(\\d{5,})-${uuid}(?:\\.gz)?\\.metadata\\.json$`);
const only_ours = [new RegExp(`^${uuid}-r\\.avro$`), new RegExp(`^compacted-${uuid}\\.parquet$`)];
const own_names = [
  ...only_ours,
  metadata_name,
  new RegExp(`^${uuid}-m\\d+\\.avro$`),
  new RegExp(`^snap-\\d+-\\d+-${uuid}\\.avro$`),
];

/** Numbers of files that the table does not name, and of removed ones. */
export type Trimmed = { old_metadata: number; orphans: number };

/**
 * Removes old metadata files that the table no longer names, and orphans. An orphan is provably
 * ours, by folder and name, and older than the longest write; no snapshot, ref, statistics or
 * metadata entry names it. It counts them before the first removal. Guarantee: all files that the
 * table shows or a run in progress needs stay. `with_young_data`: data files of any age are
 * orphans, because nobody else maintains the table now.
 */
export async function trimFiles(
  one: MaintainedTable,
  { with_young_data = false } = {},
): Promise<Trimmed> {
  const none = { old_metadata: 0, orphans: 0 };
  if (!one.rules.removes_files || (await sharesFolder(one))) return none;
  // Lists the folder first: a file that is named later is no orphan.
  const found: string[] = [];
  for await (const uri of one.files.list(one.table.location)) found.push(uri);
  const table = await reloaded(one);
  if (table?.location !== one.table.location) return none;
  const old = one.rules.removes_metadata ? found.filter((uri) => isRotated(table, uri)) : [];
  const orphans = await orphansOf(one, table, found, with_young_data);
  const { engine } = one;
  if (old.length + orphans.length > 0)
    engine.log.info(
      { table: table.id, old_metadata: old.length, orphans: orphans.length, first: orphans[0] },
      'files of a table are removed that it does not name',
    );
  return { old_metadata: await removeBelow(one, old), orphans: await removeBelow(one, orphans) };
}

/** Returns the version of our metadata file in the table's metadata folder. */
function versionOf({ location }: LakeTable, uri: string): number | undefined {
  if (folderPart(uri) !== `${location}/metadata`) return undefined;
  const version = metadata_name.exec(lastPart(uri))?.[1];
  return version === undefined ? undefined : Number(version);
}

/** Versions only grow: the table can never name a file again that is older than its oldest one. */
function isRotated(table: LakeTable, uri: string): boolean {
  const log = table.metadata['metadata-log'];
  if (log.length === 0) return false;
  const versions = log.map((entry) => versionOf(table, entry['metadata-file']));
  const [version, oldest] = [versionOf(table, uri), Math.min(...versions.map((one) => one ?? 0))];
  return version !== undefined && version < oldest;
}

async function orphansOf(
  one: MaintainedTable,
  table: LakeTable,
  found: readonly string[],
  with_young_data: boolean,
): Promise<string[]> {
  const { engine, files } = one;
  const named = await namedFiles(one, table);
  const oldest_ms = engine.clock.now() - write_ms_max;
  const orphans: string[] = [];
  for (const uri of found) {
    if (named.has(uri) || !isOurs(table, uri)) continue;
    const is_young =
      !(with_young_data && uri.endsWith('.parquet')) &&
      !(((await files.writtenAt(uri)) ?? Infinity) < oldest_ms);
    if (!is_young) orphans.push(uri);
  }
  const slices = orphans.filter((uri) => deliveryEndOf(uri) !== undefined);
  if (!(await hasOpenRun(one, slices))) return orphans;
  return orphans.filter((uri) => deliveryEndOf(uri) === undefined);
}

/** Returns true for a name of this server's pattern, in a folder for such names. */
function isOurs({ location, batch_export_id }: LakeTable, uri: string): boolean {
  const name = lastPart(uri);
  const names = batch_export_id === null ? only_ours : own_names;
  const is_named = names.some((one) => one.test(name));
  if (uri.startsWith(`${location}/metadata/`)) return is_named;
  return (
    uri.startsWith(`${location}/data/`) &&
    name.endsWith('.parquet') &&
    (is_named || (batch_export_id !== null && deliveryEndOf(uri) !== undefined))
  );
}

/** Returns everything that the table names, or an expired snapshot whose files wait for removal. */
async function namedFiles(one: MaintainedTable, table: LakeTable): Promise<Set<string>> {
  const { engine, files } = one;
  const waiting = await engine.db.rows<{ manifest_list: string }>(sql`
    SELECT manifest_list FROM lake_expired_snapshots
    WHERE table_id = ${table.id}::uuid AND manifest_list IS NOT NULL`);
  const live = await liveLists(one);
  const left = waiting.map(({ manifest_list }) => manifest_list);
  const manifests = new Map([
    ...(await manifestsIn(files, left, true)),
    ...(await manifestsIn(files, live)),
  ]);
  const { metadata, metadata_location } = table;
  const statistics = [...(metadata.statistics ?? []), ...(metadata['partition-statistics'] ?? [])];
  return new Set([
    metadata_location,
    ...metadata['metadata-log'].map((entry) => entry['metadata-file']),
    ...statistics.map((entry) => String(entry['statistics-path'])),
    ...live,
    ...left,
    ...manifests.keys(),
    ...(await filesIn(files, manifests.values(), true)),
  ]);
}
