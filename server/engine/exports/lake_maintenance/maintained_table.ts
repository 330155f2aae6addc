import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { parseExactJson } from '../../../platform/json/exact_json.ts';
import { findDestination, table_places } from '../../destinations/index.ts';
import type { MetaFiles } from '../../destinations/lake/store_snapshot.ts';
import type {
  Snapshot,
  TableMetadata,
  TableState,
} from '../../destinations/lake/table_metadata.ts';
import type { TableFiles } from '../../model/destination/table_files.ts';
import { loadConfig } from '../../model/destination/stored_config.ts';
import type { StoredConfig } from '../../model/destination/stored_config.ts';
import { commitTable } from '../../model/lake_catalog/commit.ts';
import type { Commit } from '../../model/lake_catalog/commit.ts';
import { findTableById, holdTable } from '../../model/lake_catalog/tables.ts';
import type { LakeTable } from '../../model/lake_catalog/tables.ts';
import { destinationDeps } from '../engine.ts';
import type { Engine } from '../engine.ts';
import { readNamed } from './read_table.ts';
import { rulesOf } from './rules.ts';
import type { MaintenanceRules } from './rules.ts';

/** A table with reachable files, as it was when it was opened. */
export type MaintainedTable = {
  engine: Engine;
  table: LakeTable;
  files: TableFiles;
  rules: MaintenanceRules;
  /** The name of the work in the analytics store's staging rows. */
  job: string;
  signal: AbortSignal;
};

/**
 * Opens a table in the export folder, or through the export with the credentials of its place;
 * undefined if its files lie elsewhere.
 */
export async function openMaintainedTable(
  engine: Engine,
  { id, team_id }: { id: string; team_id: number },
  signal: AbortSignal,
  job: string = randomUUID(),
): Promise<MaintainedTable | undefined> {
  const table = await findTableById(engine.db, team_id, id);
  const config = table && (await placeConfig(engine, table));
  if (table === undefined || config === undefined) return undefined;
  // Clients may keep files of a table beside it, below the place of its namespace.
  const { location, namespace_location } = table;
  const folder = location.startsWith(`${namespace_location}/`) ? namespace_location : location;
  const deps = destinationDeps(engine, signal);
  const { openTableFiles } = findDestination('Iceberg')!;
  const files = await openTableFiles!(config, { team_id, folder }, deps);
  if (!table.location.startsWith(files.root)) return undefined;
  return { engine, table, files, rules: rulesOf(table.metadata.properties), job, signal };
}

/** Returns the config that reaches the table's files; undefined if no place holds them. */
async function placeConfig(
  { db, secrets }: Engine,
  { storage_id }: LakeTable,
): Promise<Record<string, unknown> | undefined> {
  if (storage_id === null) return { storage: 'File' };
  const row = await db.row<StoredConfig & { destination_type: string }>(sql`
    SELECT destination_type, destination_config, destination_secrets FROM batch_exports
    WHERE id = ${storage_id}::uuid`);
  if (row === undefined) return undefined;
  const config = loadConfig(secrets, storage_id, row);
  const storage = config['storage'] ?? row.destination_type;
  const is_place = table_places.some(({ definition }) => definition.type === storage);
  return is_place ? { ...config, storage } : undefined;
}

/** Returns the files in the form that the writer of snapshots needs. */
export function metaFiles(files: TableFiles): MetaFiles {
  return { read: (uri) => readNamed(files, uri), put: (uri, content) => files.put(uri, content) };
}

/** Returns the current table; undefined if it was dropped. */
export function reloaded({ engine, table }: MaintainedTable): Promise<LakeTable | undefined> {
  return findTableById(engine.db, table.team_id, table.id);
}

/** Returns the state of a branch of the table: its metadata and its snapshot. */
export async function stateOf(
  db: Queryable,
  table: LakeTable,
  ref_name = 'main',
): Promise<TableState> {
  const metadata = table.metadata as unknown as TableMetadata;
  const ref = table.metadata.refs[ref_name];
  if (ref === undefined) return { metadata, parent: undefined };
  const row = await db.row<{ snapshot: string }>(sql`SELECT snapshot FROM lake_snapshots
    WHERE table_id = ${table.id}::uuid
      AND snapshot_id = ${String(ref['snapshot-id'])}::bigint`);
  return { metadata, parent: row && (parseExactJson(row.snapshot) as Snapshot) };
}

/**
 * Commits the updates that `prepare` derives from the locked table, in one transaction with the
 * writes of `also`; an empty commit changes nothing. Returns true if it changed the table.
 */
export async function commitHeld(
  { engine, table, files }: MaintainedTable,
  prepare: (held: LakeTable, tx: Transaction) => Promise<Commit['updates']>,
  also: (tx: Transaction) => Promise<void> = async () => undefined,
): Promise<boolean> {
  return engine.db.transaction(async (tx) => {
    const held = await holdTable(tx, table.team_id, table);
    // The table was dropped, and perhaps created again under its name.
    if (held?.id !== table.id) return false;
    const updates = await prepare(held, tx);
    if (updates.length === 0) return false;
    const surroundings = {
      writeFile: (uri: string, content: string | Buffer) => files.put(uri, content),
      now_ms: engine.clock.now(),
    };
    await commitTable(tx, held, { requirements: [], updates }, surroundings);
    await also(tx);
    return true;
  });
}
