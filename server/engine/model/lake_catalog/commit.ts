import sql from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import { writeExactJson } from '../../../platform/json/exact_json.ts';
import { isFields } from '../../../platform/fields.ts';
import type { Fields } from '../../../platform/fields.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { applyUpdates, namedSnapshots } from './apply_updates.ts';
import { delivery_key } from './deliveries.ts';
import { keyOf, openDraft } from './draft.ts';
import type { Draft, KnownSnapshot } from './draft.ts';
import { longOf } from './fields.ts';
import type { Long } from './fields.ts';
import { metadataParts, metadataText, newMetadata } from './metadata.ts';
import type { NewTable, TableMetadata } from './metadata.ts';
import type { Namespace } from './namespaces.ts';
import { madeMetadata, unmadeMetadata } from './read_metadata.ts';
import type { ReadMetadata } from './read_metadata.ts';
import { checkRequirements, requireCreate } from './requirements.ts';
import { gzipFile } from './packed_text.ts';
import { openTextCache, packSnapshots, readTexts } from './snapshot_texts.ts';
import type { SnapshotTexts } from './snapshot_texts.ts';
import { insertTable, metadataUri, movePointer } from './tables.ts';
import type { LakeTable, WriteFile } from './tables.ts';

/** The requirements and updates of a commit, as a client of the specification sends them. */
export type Commit = { requirements: readonly unknown[]; updates: readonly unknown[] };

/** The context of a change: the file writer and the time. */
export type Surroundings = { writeFile: WriteFile; now_ms: number };

const log_entries_usual = 100;
/** Any reader opens smaller files quickly; larger ones spend most of the time in writing. */
const packed_characters_min = 1024 * 1024;
const latest_texts = openTextCache();

/** The place of a new table in the catalog. */
export type NewTablePlace = {
  team_id: number;
  /** The transaction holds its lock. */
  namespace: Namespace;
  name: string;
  batch_export_id: string | null;
};

/**
 * Creates a table with its first metadata file. Throws 409 if the name exists and 400 for an
 * invalid schema, spec or order.
 */
export function createTable(
  tx: Transaction,
  place: NewTablePlace,
  asked: Omit<NewTable, 'now_ms'>,
  surroundings: Surroundings,
): Promise<LakeTable> {
  const { now_ms } = surroundings;
  const draft = openDraft(newMetadata({ ...asked, now_ms }), [], now_ms);
  return storeNew(tx, place, draft, surroundings);
}

/**
 * Like `createTable`, for a table that its writer prepared (`stage-create`): the updates of the
 * commit build it completely, with snapshots.
 */
export function createByCommit(
  tx: Transaction,
  place: NewTablePlace,
  location: string,
  { requirements, updates }: Commit,
  surroundings: Surroundings,
): Promise<LakeTable> {
  requireCreate(requirements);
  const { now_ms } = surroundings;
  const draft = applyUpdates(unmadeMetadata(location, updates, now_ms), updates, [], now_ms);
  return storeNew(tx, place, { ...draft, table: madeMetadata(draft.table) }, surroundings);
}

async function storeNew(
  tx: Transaction,
  place: NewTablePlace,
  draft: Draft,
  { writeFile }: Surroundings,
): Promise<LakeTable> {
  const metadata_location = metadataUri(draft.table.location, 0);
  const row = { ...place, metadata_location, version: 0, metadata: draft.table };
  const table = await insertTable(tx, row);
  await storeSnapshots(tx, table.id, draft);
  const { snapshots, log } = await readTexts(tx, table, undefined);
  const text = metadataText(writeExactJson(draft.table), snapshots.text, log.text);
  await writeFile(metadata_location, text);
  return table;
}

/**
 * Registers a table that already has a metadata file, which the caller has read. The file stays
 * unchanged. Throws 409 if the name exists.
 */
export async function registerTable(
  tx: Transaction,
  place: NewTablePlace,
  metadata_location: string,
  { metadata, snapshots, log }: ReadMetadata,
  now_ms: number,
): Promise<LakeTable> {
  const draft = openDraft(metadata, [], now_ms);
  for (const snapshot of snapshots) {
    const id = keyOf(longOf(snapshot, 'snapshot-id'));
    draft.added.set(id, { snapshot, timestamp_ms: Number(longOf(snapshot, 'timestamp-ms')) });
  }
  for (const entry of log)
    draft.logged.push({
      id: keyOf(longOf(entry, 'snapshot-id')),
      timestamp_ms: Number(longOf(entry, 'timestamp-ms')),
    });
  const version = Number(/(?:^|\/)v?(\d+)[^/]*$/.exec(metadata_location)?.[1] ?? 0);
  const table = await insertTable(tx, { ...place, metadata_location, version, metadata });
  await storeSnapshots(tx, table.id, draft);
  return table;
}

/**
 * Commits to a locked table: checks every requirement, applies every update, writes the metadata
 * file and moves the pointer, in the caller's transaction. Guarantee: the commit is applied if and
 * only if the transaction commits. A rollback may only leave the file behind. Throws a
 * `LakeRefused`: 409 if another commit came first, 400 for unknown requirements or updates. A
 * commit without changes leaves the table unchanged.
 */
export async function commitTable(
  tx: Transaction,
  table: LakeTable,
  { requirements, updates }: Commit,
  { writeFile, now_ms }: Surroundings,
): Promise<LakeTable> {
  checkRequirements(requirements, table.metadata);
  const known = await findSnapshots(tx, table.id, namedSnapshots(updates));
  const draft = applyUpdates(table.metadata, updates, known, now_ms);
  if (changesNothing(table.metadata, draft)) return table;
  const version = table.version + 1;
  const metadata = withEntry(draft.table, table, now_ms);
  const metadata_location = metadataUri(metadata.location, version);
  await storeSnapshots(tx, table.id, draft, table.metadata);
  const expiries = table.expiries + (draft.removed.size > 0 ? 1 : 0);
  // Another process may have committed since. The texts of an earlier file are then extended.
  const earlier = latest_texts.find(filesOf(table), expiries);
  const texts = await readTexts(tx, { id: table.id, expiries }, earlier.texts);
  const written = await writeMetadata(writeFile, metadata_location, metadata, texts);
  latest_texts.keep(written, texts, earlier.uri);
  return movePointer(tx, table, { metadata, metadata_location: written, version, expiries });
}

/** Returns the metadata files that the table knows, the latest first. */
function filesOf({ metadata_location, metadata }: LakeTable): string[] {
  const before = metadata['metadata-log'].map((entry) => entry['metadata-file']);
  return [metadata_location, ...before.toReversed()];
}

/**
 * Writes the metadata file and returns its URI. A large file is compressed, and its name tells
 * readers so.
 */
async function writeMetadata(
  writeFile: WriteFile,
  uri: string,
  metadata: TableMetadata,
  { snapshots, log }: SnapshotTexts,
): Promise<string> {
  const core = writeExactJson(metadata);
  if (snapshots.text.length < packed_characters_min) {
    await writeFile(uri, metadataText(core, snapshots.text, log.text));
    return uri;
  }
  const { head, tail } = metadataParts(core, log.text);
  const file = await gzipFile(await packSnapshots(snapshots, head), tail);
  const packed_uri = uri.replace(/\.metadata\.json$/, '.gz.metadata.json');
  await writeFile(packed_uri, file);
  return packed_uri;
}

function changesNothing(before: TableMetadata, { table, added, removed, logged }: Draft): boolean {
  return (
    added.size === 0 &&
    removed.size === 0 &&
    logged.length === 0 &&
    writeExactJson(table) === writeExactJson(before)
  );
}

/**
 * Returns the metadata with its timestamp, and with the previous file at the end of a bounded list.
 */
function withEntry(metadata: TableMetadata, before: LakeTable, now_ms: number): TableMetadata {
  const asked = Number(metadata.properties['write.metadata.previous-versions-max']);
  const entries_max = Number.isInteger(asked) && asked > 0 ? asked : log_entries_usual;
  const entry = {
    'metadata-file': before.metadata_location,
    'timestamp-ms': before.metadata['last-updated-ms'],
  };
  return {
    ...metadata,
    // Never earlier than the last entry: a clock may run backwards.
    'last-updated-ms': Math.max(now_ms, before.metadata['last-updated-ms']),
    'metadata-log': [...metadata['metadata-log'], entry].slice(-entries_max),
  };
}

async function findSnapshots(
  tx: Transaction,
  table_id: string,
  ids: readonly string[],
): Promise<KnownSnapshot[]> {
  if (ids.length === 0) return [];
  return tx.rows(sql`SELECT snapshot_id::text AS id, timestamp_ms FROM lake_snapshots
    WHERE table_id = ${table_id}::uuid AND snapshot_id = ANY (${ids}::bigint[])`);
}

async function storeSnapshots(
  tx: Transaction,
  table_id: string,
  { added, removed, logged, now_ms }: Draft,
  before?: TableMetadata,
): Promise<void> {
  if (removed.size > 0)
    await expireSnapshots(tx, table_id, [...removed], { now_ms, metadata: before! });
  const snapshots = [...added.entries()];
  if (snapshots.length > 0)
    await tx.run(sql`
      INSERT INTO lake_snapshots (table_id, snapshot_id, timestamp_ms, parent_id, delivery_id,
        snapshot)
      SELECT ${table_id}::uuid, one.id, one.at, one.parent, one.delivery, one.text
      FROM unnest(${snapshots.map(([id]) => id)}::bigint[],
        ${snapshots.map(([, one]) => one.timestamp_ms)}::bigint[],
        ${snapshots.map(([, one]) => parentOf(one.snapshot))}::bigint[],
        ${snapshots.map(([, one]) => deliveryOf(one.snapshot))}::text[],
        ${snapshots.map(([, one]) => writeExactJson(one.snapshot))}::text[])
        WITH ORDINALITY AS one (id, at, parent, delivery, text, place) ORDER BY one.place`);
  if (logged.length > 0)
    await tx.run(sql`
      INSERT INTO lake_snapshot_log (table_id, snapshot_id, timestamp_ms)
      SELECT ${table_id}::uuid, one.id, one.at
      FROM unnest(${logged.map(({ id }) => id)}::bigint[],
        ${logged.map((one) => one.timestamp_ms)}::bigint[])
        WITH ORDINALITY AS one (id, at, place) ORDER BY one.place`);
}

function parentOf(snapshot: Fields): string | null {
  const id = (snapshot['parent-snapshot-id'] ?? null) as Long | null;
  return id === null ? null : keyOf(id);
}

function deliveryOf({ summary }: Fields): string | null {
  const id = isFields(summary) ? summary[delivery_key] : undefined;
  return typeof id === 'string' ? id : null;
}

/** Removes snapshots from the table; the record of the deliveries they added stays. */
async function expireSnapshots(
  tx: Transaction,
  table_id: string,
  ids: string[],
  { now_ms, metadata }: { now_ms: number; metadata: TableMetadata },
): Promise<void> {
  const statistics = [
    ...(metadata.statistics ?? []),
    ...(metadata['partition-statistics'] ?? []),
  ].map((one) => [keyOf(one['snapshot-id'] as Long), one['statistics-path'] as string] as const);
  await tx.run(sql`
    WITH gone AS (
      DELETE FROM lake_snapshots
      WHERE table_id = ${table_id}::uuid AND snapshot_id = ANY (${ids}::bigint[])
      RETURNING snapshot_id, number, parent_id, delivery_id, snapshot
    )
    INSERT INTO lake_expired_snapshots (table_id, snapshot_id, number, parent_id, delivery_id,
      manifest_list, statistics, expired_at)
    SELECT ${table_id}::uuid, snapshot_id, number, parent_id, delivery_id,
      snapshot::jsonb ->> 'manifest-list', ARRAY (SELECT one.path
        FROM unnest(${statistics.map(([id]) => id)}::bigint[],
          ${statistics.map(([, path]) => path)}::text[]) AS one (id, path)
        WHERE one.id = snapshot_id), ${isoInstant(now_ms)}::timestamptz
    FROM gone
    ON CONFLICT (table_id, snapshot_id) DO NOTHING`);
  // The log must have no gap: entries before the last removed one are deleted too.
  await tx.run(sql`DELETE FROM lake_snapshot_log WHERE table_id = ${table_id}::uuid
    AND number <= (SELECT max(number) FROM lake_snapshot_log
      WHERE table_id = ${table_id}::uuid AND snapshot_id = ANY (${ids}::bigint[]))`);
}
