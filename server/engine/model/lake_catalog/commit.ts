import sql from 'sql-template-tag';
import { writeExactJson } from '../../../platform/exact_json.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { applyUpdates, namedSnapshots } from './apply_updates.ts';
import { keyOf, openDraft } from './draft.ts';
import type { Draft, KnownSnapshot } from './draft.ts';
import { longOf } from './fields.ts';
import { metadataText, newMetadata } from './metadata.ts';
import type { NewTable, TableMetadata } from './metadata.ts';
import type { Namespace } from './namespaces.ts';
import { madeMetadata, unmadeMetadata } from './read_metadata.ts';
import type { ReadMetadata } from './read_metadata.ts';
import { checkRequirements, requireCreate } from './requirements.ts';
import { appended, openTextCache } from './snapshot_texts.ts';
import { insertTable, metadataUri, movePointer, storedTexts } from './tables.ts';
import type { LakeTable, WriteFile } from './tables.ts';

/** The requirements and updates of a commit, as a client of the specification sends them. */
export type Commit = { requirements: readonly unknown[]; updates: readonly unknown[] };

/** The surroundings of a change: how files are written, and the time. */
export type Surroundings = { writeFile: WriteFile; now_ms: number };

const log_entries_usual = 100;
const latest_texts = openTextCache();

/** The place of a new table in the catalog. */
export type NewTablePlace = {
  team_id: number;
  /** It is held. */
  namespace: Namespace;
  name: string;
  batch_export_id: string | null;
};

/**
 * Creates a table with its first metadata file. Throws 409 if the name is taken and 400 for a
 * schema, spec or order that is none.
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
 * As `createTable`, for a table that its writer prepared (`stage-create`): the updates of the
 * commit make all of it, snapshots too.
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
  const { snapshots, log } = await storedTexts(tx, table.id);
  await writeFile(metadata_location, metadataText(writeExactJson(draft.table), snapshots, log));
  return table;
}

/**
 * Enters a table that has a metadata file already, which was read; the file stays as it is. Throws
 * 409 if the name is taken.
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
 * Commits to a held table: checks every requirement, applies every update, writes the metadata file
 * and then moves the pointer, all inside of the caller's transaction. Guarantee: once that has
 * committed the commit is applied, and if it rolls back nothing is; only the file may be left.
 * Throws a `LakeRefused`: 409 where another commit came first, 400 for what is not known. A commit
 * that changes nothing leaves the table as it is.
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
  await storeSnapshots(tx, table.id, draft);
  const texts = textsAfter(table, draft) ?? (await storedTexts(tx, table.id));
  await writeFile(
    metadata_location,
    metadataText(writeExactJson(metadata), texts.snapshots, texts.log),
  );
  latest_texts.keep(metadata_location, texts, table.metadata_location);
  return movePointer(tx, table, { metadata, metadata_location, version });
}

/** The snapshots and their log after the draft; undefined where they have to be read. */
function textsAfter(table: LakeTable, { added, removed, logged }: Draft) {
  const before = latest_texts.find(table.metadata_location);
  if (before === undefined || removed.size > 0) return undefined;
  return {
    snapshots: appended(
      before.snapshots,
      [...added.values()].map(({ snapshot }) => writeExactJson(snapshot)),
    ),
    log: appended(
      before.log,
      logged.map(({ id, timestamp_ms }) => `{"snapshot-id":${id},"timestamp-ms":${timestamp_ms}}`),
    ),
  };
}

function changesNothing(before: TableMetadata, { table, added, removed, logged }: Draft): boolean {
  return (
    added.size === 0 &&
    removed.size === 0 &&
    logged.length === 0 &&
    writeExactJson(table) === writeExactJson(before)
  );
}

/** The metadata with its age, and with the file before it at the end of a bounded list. */
function withEntry(metadata: TableMetadata, before: LakeTable, now_ms: number): TableMetadata {
  const asked = Number(metadata.properties['write.metadata.previous-versions-max']);
  const entries_max = Number.isInteger(asked) && asked > 0 ? asked : log_entries_usual;
  const entry = {
    'metadata-file': before.metadata_location,
    'timestamp-ms': before.metadata['last-updated-ms'],
  };
  return {
    ...metadata,
    // Never before the last entry: a clock may go back.
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
  { added, removed, logged }: Draft,
): Promise<void> {
  if (removed.size > 0) {
    const ids = [...removed];
    await tx.run(sql`DELETE FROM lake_snapshots
      WHERE table_id = ${table_id}::uuid AND snapshot_id = ANY (${ids}::bigint[])`);
    // The log tells no history across a gap: what stands before the last removed one goes too.
    await tx.run(sql`DELETE FROM lake_snapshot_log WHERE table_id = ${table_id}::uuid
      AND number <= (SELECT max(number) FROM lake_snapshot_log
        WHERE table_id = ${table_id}::uuid AND snapshot_id = ANY (${ids}::bigint[]))`);
  }
  const snapshots = [...added.entries()];
  if (snapshots.length > 0)
    await tx.run(sql`
      INSERT INTO lake_snapshots (table_id, snapshot_id, timestamp_ms, snapshot)
      SELECT ${table_id}::uuid, one.id, one.at, one.text
      FROM unnest(${snapshots.map(([id]) => id)}::bigint[],
        ${snapshots.map(([, one]) => one.timestamp_ms)}::bigint[],
        ${snapshots.map(([, one]) => writeExactJson(one.snapshot))}::text[])
        WITH ORDINALITY AS one (id, at, text, place) ORDER BY one.place`);
  if (logged.length > 0)
    await tx.run(sql`
      INSERT INTO lake_snapshot_log (table_id, snapshot_id, timestamp_ms)
      SELECT ${table_id}::uuid, one.id, one.at
      FROM unnest(${logged.map(({ id }) => id)}::bigint[],
        ${logged.map((one) => one.timestamp_ms)}::bigint[])
        WITH ORDINALITY AS one (id, at, place) ORDER BY one.place`);
}
