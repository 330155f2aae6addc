import { isDeepStrictEqual } from 'node:util';
import { NonRetryableError } from '../../model/destination/errors.ts';
import { identifier, literal } from '../formats/expression.ts';
import type { Column, ColumnType } from '../../model/models/column.ts';
import { mergeOf } from '../sql_tables/layout.ts';
import type { Layout } from '../sql_tables/layout.ts';
import { listed } from '../sql_tables/merging.ts';
import type { Connection } from './connection.ts';
import { sortingColumns } from './table_keys.ts';
import { requireNoneMissing } from '../sql_tables/fitting.ts';
import type { FoundColumn } from '../sql_tables/fitting.ts';

/**
 * Names, in every row, its stage table: so the next attempt can tell whether a commit with a lost
 * answer has happened.
 */
export const stage_column = 'sluice_stage_id';

/**
 * Orders the rows of a key: by their versions, then by a hash of their other values. The engine
 * only compares one version, and prefers the last of equal rows.
 */
export const version_column = 'sluice_version';

const no_stage = '00000000-0000-0000-0000-000000000000';

const types: Record<ColumnType, string> = {
  uuid: 'UUID',
  text: 'String',
  json: 'String',
  timestamp: "DateTime64(6, 'UTC')",
  date: 'Date32',
  decimal: 'Decimal(38, 9)',
  integer: 'Int64',
  float: 'Float64',
  boolean: 'Bool',
};

const event_order = ['event', 'timestamp', 'uuid'];

/** A table as the server describes it. */
export type Table = {
  engine: string;
  engine_full: string;
  sorting_key: string;
  storage_policy: string;
  /** The statement that creates it. */
  definition: string;
  /** Materialized views on its inserts, with their databases. */
  views: string[];
};

/** The partition of a row, by which parts are linked. A real column of this name hides it. */
const partition_column = '_partition_id';

const own_columns = new Set([
  stage_column,
  version_column,
  partition_column,
  '_row_exists',
  '_block_number',
  '_block_offset',
]);

/**
 * Lists the columns of a query that ClickHouse cannot store, because its tables or ours already use
 * their names.
 */
export function clickHouseColumnFaults(columns: Column[]): string[] {
  return columns
    .filter(({ name }) => own_columns.has(name))
    .map(({ name }) => `The table already has a column \`${name}\`. Give yours another alias.`);
}

/**
 * Returns the statement that creates the table of an export. It has no partitions, so that a
 * delivery is shown in one step; rows are merged by key and version.
 */
export function tableStatement(target: string, layout: Layout): string {
  const { key = [] } = mergeOf(layout) ?? {};
  const columns = layout.columns.map(
    (column) => `${identifier(column.name)} ${typeOf(column, key)}`,
  );
  // MATERIALIZED excludes it from SELECT *.
  columns.push(`${identifier(stage_column)} UUID MATERIALIZED toUUID(${literal(no_stage)})`);
  // A third smaller than by LZ4, for the same processor time.
  if (key.length > 0)
    columns.push(`${identifier(version_column)} UInt256 MATERIALIZED 0 CODEC(ZSTD(1))`);
  return `CREATE TABLE IF NOT EXISTS ${target} (${columns.join(', ')}) ENGINE =
    ${engineOf(layout)}`;
}

/**
 * Returns the type of a column of a table that the export creates, whose rows are merged by `key`.
 */
export function typeOf(column: Column, key: readonly string[] = []): string {
  return column.nullable && !key.includes(column.name)
    ? `Nullable(${types[column.type]})`
    : types[column.type];
}

function engineOf(layout: Layout): string {
  const merge = mergeOf(layout);
  if (merge !== undefined) {
    const key = layout.columns.filter(({ name }) => merge.key.includes(name));
    const order = key.map(({ name }) => identifier(name)).join(', ');
    return `ReplacingMergeTree(${identifier(version_column)}) ORDER BY (${order})`;
  }
  const has = (name: string) =>
    layout.columns.some((column) => column.name === name && !column.nullable);
  const order = (layout.model === 'events' ? event_order : []).filter(has).map(identifier);
  return `MergeTree ORDER BY (${order.join(', ')})`;
}

/** The facts about a table from `system.tables`. */
export const table_facts =
  'engine, engine_full, sorting_key, storage_policy, create_table_query AS definition, ' +
  "arrayMap((at, one) -> concat(at, '.', one), dependencies_database, dependencies_table) AS views";

/** Finds the table of this name; undefined if the user cannot see one. */
export async function findTable(connection: Connection, table: string): Promise<Table | undefined> {
  const { database } = connection.target;
  const [found] = await connection.rows<Table>(
    `SELECT ${table_facts} FROM system.tables
      WHERE database = {database:String} AND name = {table:String}`,
    { database, table },
  );
  return found;
}

/** Lists the database's tables with this prefix, in order. */
export async function listTables(connection: Connection, prefix: string): Promise<string[]> {
  const { database } = connection.target;
  const found = await connection.rows<{ name: string }>(
    'SELECT name FROM system.tables WHERE database = {database:String} AND startsWith(name, ' +
      '{prefix:String}) ORDER BY name',
    { database, prefix },
  );
  return found.map((row) => row.name);
}

/** Finds the columns of a table; undefined if the user cannot see it. */
export async function findColumns(
  connection: Connection,
  table: string,
): Promise<FoundColumn[] | undefined> {
  const { database } = connection.target;
  const found = await connection.rows<FoundColumn>(
    'SELECT name, type FROM system.columns WHERE database = {database:String} AND table = ' +
      '{table:String}',
    { database, table },
  );
  return found.length === 0 ? undefined : found;
}

/** Returns the prepared table of the export. */
export async function getTable(connection: Connection): Promise<Table> {
  const { table, name } = connection.target;
  const found = await findTable(connection, table);
  if (found !== undefined) return found;
  throw new NonRetryableError(
    'permission_denied',
    `The user may not see the table ${name} in system.tables; grant SHOW TABLES and SHOW COLUMNS ` +
      'on it.',
  );
}

/**
 * Refuses an unsuitable table: by its engine, by its sorting key of persons, and by its columns, of
 * which it lists all missing ones. Returns the table.
 */
export async function checkTable(
  connection: Connection,
  layout: Layout,
  found: FoundColumn[],
  known?: Table,
): Promise<Table> {
  const { name } = connection.target;
  const table = known ?? (await getTable(connection));
  if (!table.engine.endsWith('MergeTree')) {
    throw new NonRetryableError(
      'table_unsuitable',
      `The table ${name} has the engine ${table.engine}; a delivery can be shown at once only ` +
        'in one of the MergeTree family. Export to such a table.',
    );
  }
  checkMerging(name, table, layout);
  checkColumns(name, layout, found);
  return table;
}

/**
 * Persons may continue to use a table of an earlier release, whose engine only compares the first
 * version. That is exact for them, because no two rows of a person share it.
 */
function checkMerging(name: string, table: Table, layout: Layout): void {
  const merge = mergeOf(layout);
  if (merge === undefined) return;
  const sorting = sortingColumns(table.sorting_key).sort();
  const isKeyed = isDeepStrictEqual(sorting, merge.key.toSorted());
  if (!table.engine.includes('Replacing') || !isKeyed)
    throw new NonRetryableError(
      'table_unsuitable',
      `Rows are merged by ${listed(merge.key)}, but the table ${name} is no ` +
        'ReplacingMergeTree ordered by these columns; create one or export to another table.',
    );
  if (layout.merge !== undefined && !table.engine_full.includes(version_column))
    throw new NonRetryableError(
      'table_unsuitable',
      `The table ${name} must have the engine ReplacingMergeTree(${version_column}) with a ` +
        `column ${version_column} UInt256: ClickHouse takes one version, and Sluice puts all of ` +
        'them and the order of equal ones into this column. Create such a table, or export to ' +
        'another one.',
    );
}

function checkColumns(name: string, layout: Layout, found: FoundColumn[]): void {
  const names = new Set(found.map((row) => row.name));
  if (names.has(partition_column))
    throw new NonRetryableError(
      'table_unsuitable',
      `The table ${name} has a column ${partition_column}, which hides the column that ` +
        'ClickHouse needs to identify partitions. Rename it, or export to another table.',
    );
  const { key = [] } = mergeOf(layout) ?? {};
  const missing = layout.columns
    .filter((column) => !names.has(column.name))
    .map((column) => `${column.name} ${typeOf(column, key)}`);
  if (!found.some((row) => row.name === stage_column && row.type === 'UUID'))
    missing.push(`${stage_column} UUID`);
  requireNoneMissing(name, missing);
}
