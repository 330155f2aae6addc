import sql, { empty } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import { parseExactJson, writeExactJson } from '../../../platform/json/exact_json.ts';
import { isDatabaseError } from '../../../platform/postgres/database.ts';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { metadataText } from './metadata.ts';
import type { TableMetadata } from './metadata.ts';
import type { Namespace, Page } from './namespaces.ts';
import { LakeRefused } from './refusal.ts';

/** The name of a table: the levels of its namespace, and its name there. */
export type TableName = { levels: string[]; name: string };

/** A table of the catalog as it is stored. Its snapshots are rows of their own. */
export type LakeTable = TableName & {
  id: string;
  team_id: number;
  namespace_id: string;
  /** The export that writes the table; null: only its clients write. */
  batch_export_id: string | null;
  /**
   * The export whose destination config has the credentials for the place; null: the export folder.
   */
  storage_id: string | null;
  location: string;
  metadata_location: string;
  version: number;
  /** Counts the commits that removed snapshots. */
  expiries: number;
  metadata: TableMetadata;
  /** The URI below which the files of its namespace lie. */
  namespace_location: string;
  /** The property of its namespace that turns maintenance on or off. */
  namespace_maintenance: string | null;
  /**
   * True if clients may commit. They may if no export writes the table, or if a property allows it.
   */
  takes_commits: boolean;
};

/** The property of a namespace that allows clients to commit to tables of exports. */
export const foreign_commits = 'sluice.foreign-commits';

/** The property of a table or its namespace that turns maintenance on or off. */
export const maintenance_property = 'sluice.maintenance';

/**
 * Writes the content to a new file at this URI and resolves once it is safe. Called inside the
 * transaction, before the pointer moves.
 */
export type WriteFile = (uri: string, content: string | Buffer) => Promise<void>;

type Stored = Omit<LakeTable, 'metadata'> & { metadata: string };

const columns = sql`t.id, t.team_id, t.namespace_id, t.batch_export_id, t.name, t.location,
  t.metadata_location, t.version, t.expiries, t.metadata, n.levels,
  n.location AS namespace_location,
  n.properties ->> ${maintenance_property} AS namespace_maintenance,
  coalesce(t.batch_export_id, n.batch_export_id) AS storage_id,
  t.batch_export_id IS NULL OR n.properties ->> ${foreign_commits} IS NOT DISTINCT FROM 'true'
    AS takes_commits`;

/** Finds a table of the project; undefined if it does not exist. */
export function findTable(
  db: Queryable,
  team_id: number,
  name: TableName,
): Promise<LakeTable | undefined> {
  return find(db, team_id, name, false);
}

/** Like `findTable`, with a lock until the transaction ends: nobody else can commit meanwhile. */
export function holdTable(
  tx: Transaction,
  team_id: number,
  name: TableName,
): Promise<LakeTable | undefined> {
  return find(tx, team_id, name, true);
}

async function find(
  db: Queryable,
  team_id: number,
  { levels, name }: TableName,
  holds: boolean,
): Promise<LakeTable | undefined> {
  const row = await db.row<Stored>(sql`SELECT ${columns}
    FROM lake_tables t JOIN lake_namespaces n ON n.id = t.namespace_id
    WHERE n.team_id = ${team_id} AND n.levels = ${levels}::text[] AND t.name = ${name}
    ${holds ? sql`FOR NO KEY UPDATE OF t` : empty}`);
  return row && read(row);
}

/** Finds a table of the project by its id; undefined if it does not exist. */
export async function findTableById(
  db: Queryable,
  team_id: number,
  id: string,
): Promise<LakeTable | undefined> {
  const row = await db.row<Stored>(sql`SELECT ${columns}
    FROM lake_tables t JOIN lake_namespaces n ON n.id = t.namespace_id
    WHERE t.team_id = ${team_id} AND t.id = ${id}::uuid`);
  return row && read(row);
}

const read = (row: Stored): LakeTable => ({
  ...row,
  metadata: parseExactJson(row.metadata) as TableMetadata,
});

/** Returns a 404: the project has no such table. */
export function noTable({ levels, name }: TableName): LakeRefused {
  return new LakeRefused(
    'NoSuchTableException',
    `Table does not exist: ${[...levels, name].join('.')}`,
  );
}

/** Returns a 409: a table of this name exists. */
export function tableExists({ levels, name }: TableName): LakeRefused {
  return new LakeRefused(
    'AlreadyExistsException',
    `Table already exists: ${[...levels, name].join('.')}`,
  );
}

/** Returns the URI of a version's metadata file; each attempt gets a different one. */
export function metadataUri(location: string, version: number): string {
  return `${location}/metadata/${String(version).padStart(5, '0')}-${uuidv4()}.metadata.json`;
}

/** A table to store; its metadata file is already written. */
export type NewRow = {
  team_id: number;
  namespace: Namespace;
  name: string;
  batch_export_id: string | null;
  metadata_location: string;
  version: number;
  metadata: TableMetadata;
};

/** Stores a new table without snapshots. Throws 409 if the name exists. */
export async function insertTable(tx: Transaction, row: NewRow): Promise<LakeTable> {
  const { team_id, namespace, name, batch_export_id, metadata_location, version, metadata } = row;
  const id = uuidv7();
  const named = { levels: namespace.levels, name };
  await tx
    .run(
      sql`INSERT INTO lake_tables (id, team_id, namespace_id, name, batch_export_id, location,
          metadata_location, version, metadata)
        VALUES (${id}, ${team_id}, ${namespace.id}::uuid, ${name}, ${batch_export_id}::uuid,
          ${metadata.location}, ${metadata_location}, ${version}, ${writeExactJson(metadata)})`,
    )
    .catch((error: unknown) => {
      if (isDatabaseError(error) && error.constraint === 'lake_tables_name_unique')
        throw tableExists(named);
      throw error;
    });
  return {
    ...named,
    id,
    team_id,
    namespace_id: namespace.id,
    batch_export_id,
    storage_id: batch_export_id ?? namespace.batch_export_id,
    location: metadata.location,
    metadata_location,
    version,
    expiries: 0,
    metadata,
    namespace_location: namespace.location,
    namespace_maintenance: namespace.properties[maintenance_property] ?? null,
    takes_commits: batch_export_id === null || namespace.properties[foreign_commits] === 'true',
  };
}

/** Points a locked table to a written metadata file. */
export async function movePointer(
  tx: Transaction,
  table: LakeTable,
  next: Pick<LakeTable, 'metadata_location' | 'version' | 'expiries' | 'metadata'>,
): Promise<LakeTable> {
  await tx.run(sql`UPDATE lake_tables SET metadata_location = ${next.metadata_location},
      version = ${next.version}, expiries = ${next.expiries}, location = ${next.metadata.location},
      metadata = ${writeExactJson(next.metadata)}, updated_at = now()
    WHERE id = ${table.id}::uuid`);
  return { ...table, ...next, location: next.metadata.location };
}

const log_texts = (table_id: Sql) => sql`(SELECT string_agg(
    format('{"snapshot-id":%s,"timestamp-ms":%s}', snapshot_id, timestamp_ms), ',' ORDER BY number)
  FROM lake_snapshot_log WHERE table_id = ${table_id})`;
const snapshot_texts = (table_id: Sql, wanted = empty) => sql`(SELECT string_agg(snapshot, ','
  ORDER BY number) FROM lake_snapshots WHERE table_id = ${table_id} ${wanted})`;

/**
 * Reads the pointer of a table and its whole metadata in one snapshot; with `refs`, only the
 * snapshots that a branch or tag names. Undefined if the table does not exist.
 */
export async function readWhole(
  db: Queryable,
  id: string,
  snapshots: 'all' | 'refs' = 'all',
): Promise<{ metadata_location: string; text: string } | undefined> {
  const named = sql`AND snapshot_id IN (SELECT (ref ->> 'snapshot-id')::bigint
    FROM jsonb_path_query(t.metadata::jsonb, '$.refs.*') ref)`;
  const row = await db.row<
    Pick<Stored, 'metadata_location' | 'metadata'> & {
      snapshots: string | null;
      log: string | null;
    }
  >(sql`SELECT t.metadata_location, t.metadata,
      ${snapshot_texts(sql`t.id`, snapshots === 'refs' ? named : empty)} AS snapshots,
      ${log_texts(sql`t.id`)} AS log FROM lake_tables t WHERE t.id = ${id}::uuid`);
  return (
    row && {
      metadata_location: row.metadata_location,
      text: metadataText(row.metadata, row.snapshots ?? '', row.log ?? ''),
    }
  );
}

/** Returns true if a table of any project stores its files at or below the location. */
export async function hasTableIn(db: Queryable, location: string): Promise<boolean> {
  const row = await db.row(sql`SELECT 1 FROM lake_tables
    WHERE location = ${location} OR starts_with(location, ${`${location}/`}) LIMIT 1`);
  return row !== undefined;
}

/** Removes a table from the catalog; its files stay. */
export async function dropTable(tx: Transaction, { id }: LakeTable): Promise<void> {
  await tx.run(sql`DELETE FROM lake_tables WHERE id = ${id}::uuid`);
}

/** Renames a locked table. Throws 409 if the name exists. */
export async function renameTable(
  tx: Transaction,
  { id }: LakeTable,
  namespace: Namespace,
  name: string,
): Promise<void> {
  await tx
    .run(
      sql`UPDATE lake_tables SET namespace_id = ${namespace.id}::uuid, name = ${name},
        updated_at = now() WHERE id = ${id}::uuid`,
    )
    .catch((error: unknown) => {
      if (isDatabaseError(error) && error.constraint === 'lake_tables_name_unique')
        throw tableExists({ levels: namespace.levels, name });
      throw error;
    });
}

/** Lists the tables of a namespace by name. */
export function listTables(
  db: Queryable,
  namespace_id: string,
  { after, size }: Page,
): Promise<{ name: string }[]> {
  return db.rows(sql`SELECT name FROM lake_tables
    WHERE namespace_id = ${namespace_id}::uuid AND (${after}::text IS NULL OR name > ${after})
    ORDER BY name LIMIT ${size}::bigint`);
}
