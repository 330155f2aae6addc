import { NonRetryableError } from '../../model/destination/errors.ts';
import { identifier, literal } from '../formats/expression.ts';
import type { Column, ColumnType } from '../../model/models/column.ts';
import { isMerged, mergeKey, versionColumns } from '../sql_tables/layout.ts';
import type { Layout } from '../sql_tables/layout.ts';
import { inDatabase } from './config.ts';
import type { Connection } from './connection.ts';
import { requireNoneMissing } from '../sql_tables/fitting.ts';
import type { FoundColumn } from '../sql_tables/fitting.ts';

/**
 * Holds, in every row, which stage table it came by: so it can be told whether a commit whose
 * answer was lost has happened.
 */
export const stage_column = 'sluice_stage_id';

const no_stage = '00000000-0000-0000-0000-000000000000';

const types: Record<ColumnType, string> = {
  uuid: 'UUID',
  text: 'String',
  json: 'String',
  timestamp: "DateTime64(6, 'UTC')",
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
  /** Materialized views that take what is inserted into it, with their databases. */
  views: string[];
};

/** The partition of a row, by which parts are linked. A real column of this name hides it. */
const partition_column = '_partition_id';

const own_columns = new Set([
  stage_column,
  partition_column,
  '_row_exists',
  '_block_number',
  '_block_offset',
]);

/**
 * Lists the columns of a query that ClickHouse cannot take: names that its tables or ours have
 * already.
 */
export function clickHouseColumnFaults(columns: Column[]): string[] {
  return columns
    .filter(({ name }) => own_columns.has(name))
    .map(({ name }) => `The table already has a column \`${name}\`. Give yours another alias.`);
}

/**
 * The statement that creates the table of an export. It has no partitions, so that a delivery is
 * shown in one step; persons are merged by key and version.
 */
export function tableStatement(target: string, layout: Layout): string {
  const columns = layout.columns.map((column) => `${identifier(column.name)} ${typeOf(column)}`);
  // MATERIALIZED keeps it out of SELECT *.
  columns.push(`${identifier(stage_column)} UUID MATERIALIZED toUUID(${literal(no_stage)})`);
  return `CREATE TABLE IF NOT EXISTS ${target} (${columns.join(', ')}) ENGINE =
    ${engineOf(layout)}`;
}

function typeOf(column: Column): string {
  return column.nullable ? `Nullable(${types[column.type]})` : types[column.type];
}

function engineOf(layout: Layout): string {
  const has = (name: string) =>
    layout.columns.some((column) => column.name === name && !column.nullable);
  const order = (names: readonly string[]) => `(${names.filter(has).map(identifier).join(', ')})`;
  if (!isMerged(layout))
    return `MergeTree ORDER BY ${order(layout.model === 'events' ? event_order : [])}`;
  // The engine takes one version: the first, which decides where it differs.
  const version = versionColumns(layout).find((wanted) =>
    layout.columns.some(
      ({ name, type, nullable, is_calculated }) =>
        name === wanted && type === 'integer' && !nullable && is_calculated !== true,
    ),
  );
  return `ReplacingMergeTree(${version ?? ''}) ORDER BY ${order(mergeKey(layout))}`;
}

/** The table of this name, or undefined when there is none that the user may see. */
export async function findTable(connection: Connection, table: string): Promise<Table | undefined> {
  const { database } = connection.target;
  const [found] = await connection.rows<Table>(
    `SELECT engine, engine_full, sorting_key, storage_policy,
      arrayMap((at, name) -> concat(at, '.', name), dependencies_database, dependencies_table) views
    FROM system.tables WHERE database = {database:String} AND name = {table:String}`,
    { database, table },
  );
  return found;
}

/** Names of the tables of the database that begin so, in order. */
export async function listTables(connection: Connection, prefix: string): Promise<string[]> {
  const { database } = connection.target;
  const found = await connection.rows<{ name: string }>(
    'SELECT name FROM system.tables WHERE database = {database:String} AND startsWith(name, ' +
      '{prefix:String}) ORDER BY name',
    { database, prefix },
  );
  return found.map((row) => row.name);
}

/** The columns of a table, or undefined when there is none that the user may see. */
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

/** The table of the export, once it is prepared. */
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
 * Refuses a table that cannot take the export: engine, sorting key of persons, and columns, of
 * which all that are missing are named.
 */
export async function checkTable(
  connection: Connection,
  layout: Layout,
  found: FoundColumn[],
): Promise<void> {
  const { name } = connection.target;
  const table = await getTable(connection);
  if (!table.engine.endsWith('MergeTree')) {
    throw new NonRetryableError(
      'table_unsuitable',
      `The table ${name} has the engine ${table.engine}; a delivery can be shown at once only ` +
        'in one of the MergeTree family. Export to such a table.',
    );
  }
  const isKeyed =
    table.sorting_key.split(', ').sort().join() === mergeKey(layout).toSorted().join();
  if (isMerged(layout) && !(table.engine.includes('Replacing') && isKeyed)) {
    throw new NonRetryableError(
      'table_unsuitable',
      `Rows are merged by (${mergeKey(layout).join(', ')}), but the table ${name} is no ` +
        'ReplacingMergeTree ordered by these columns; create one or export to another table.',
    );
  }
  checkColumns(name, layout.columns, found);
}

function checkColumns(name: string, columns: Column[], found: FoundColumn[]): void {
  const names = new Set(found.map((row) => row.name));
  if (names.has(partition_column))
    throw new NonRetryableError(
      'table_unsuitable',
      `The table ${name} has a column ${partition_column}, which hides the column that ` +
        'ClickHouse needs to identify partitions. Rename it, or export to another table.',
    );
  const missing = columns
    .filter((column) => !names.has(column.name))
    .map((column) => `${column.name} ${typeOf(column)}`);
  if (!found.some((row) => row.name === stage_column && row.type === 'UUID'))
    missing.push(`${stage_column} UUID`);
  requireNoneMissing(name, missing);
}

/**
 * Creates an empty table that fits the target part by part, whose rows say which stage they came
 * by.
 */
export async function createStage(
  connection: Connection,
  target: Table,
  stage: { table: string; id: string },
): Promise<void> {
  const name = inDatabase(connection.config, stage.table);
  const policy =
    target.storage_policy === 'default'
      ? ''
      : ` SETTINGS storage_policy = ${literal(target.storage_policy)}`;
  await connection.command(
    `CREATE TABLE ${name} AS ${connection.target.quoted} ENGINE = MergeTree
      ${keyClauses(target.engine_full)}${policy}`,
  );
  await connection.command(
    `ALTER TABLE ${name} MODIFY COLUMN ${identifier(stage_column)} UUID DEFAULT
      toUUID(${literal(stage.id)})`,
  );
}

const engine_token = /'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|"(?:[^"\\]|\\.)*"|\w+|[^\w]/gs;

/**
 * Returns partition, order and sampling keys in the exact text of the table's definition: the
 * server treats `(a)` and `a` as different keys. Omits the rest: settings belong to the table, and
 * a TTL would remove rows from the stage before they are counted.
 */
export function keyClauses(engineFull: string): string {
  let depth = 0;
  let start: number | undefined;
  for (const { 0: token, index } of engineFull.matchAll(engine_token)) {
    if (token === '(' || token === '[') depth += 1;
    else if (token === ')' || token === ']') depth -= 1;
    else if (depth === 0 && ['PARTITION', 'PRIMARY', 'ORDER', 'SAMPLE'].includes(token))
      start ??= index;
    else if (depth === 0 && start !== undefined && ['TTL', 'SETTINGS', 'COMMENT'].includes(token))
      return engineFull.slice(start, index).trimEnd();
  }
  return engineFull.slice(start ?? engineFull.length);
}
