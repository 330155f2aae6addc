import { NonRetryableError } from '../../model/destination/errors.ts';
import type { Column, ColumnType } from '../../model/models/column.ts';
import { quoted } from '../sql_tables/layout.ts';
import type { Layout } from '../sql_tables/layout.ts';
import { mergeWords, nullableKeys, requireFilledKeys } from '../sql_tables/merging.ts';
import type { Connection } from './connection.ts';
import { requireNoneMissing } from '../sql_tables/fitting.ts';
import type { FoundColumn } from '../sql_tables/fitting.ts';

/** Types of the columns of a table that the export creates. Instants are UTC. */
const types: Record<ColumnType, string> = {
  uuid: 'VARCHAR',
  text: 'VARCHAR',
  json: 'VARIANT',
  timestamp: 'TIMESTAMP_NTZ(6)',
  date: 'DATE',
  decimal: 'NUMBER(38, 9)',
  integer: 'NUMBER(38, 0)',
  float: 'FLOAT',
  boolean: 'BOOLEAN',
};

/** Returns the type of a column of a table that the export creates. */
export function typeOf({ type }: Column): string {
  return types[type];
}

/**
 * Types, by their names in the information schema, that store every value of a typed column
 * completely.
 */
export const whole_types: Record<ColumnType, RegExp> = {
  uuid: /^TEXT$/,
  text: /^TEXT$/,
  json: /^(?:VARIANT|TEXT)$/,
  timestamp: /^TIMESTAMP_/,
  integer: /^NUMBER$/,
  float: /^FLOAT$/,
  boolean: /^BOOLEAN$/,
  date: /^DATE$/,
  decimal: /^NUMBER$/,
};

/**
 * A table's columns, each with its type in the information schema (`TEXT`, `VARIANT`, `NUMBER`).
 */
export type TableColumns = ReadonlyMap<string, string>;

/**
 * Lists the columns of a query that Snowflake cannot store: names that its streams add to a table,
 * and NUL.
 */
export function snowflakeColumnFaults(columns: Column[]): string[] {
  return columns
    .filter(({ name }) => name.toUpperCase().startsWith('METADATA$') || name.includes('\0'))
    .map(
      ({ name }) =>
        'Snowflake reserves names that begin with METADATA$, and allows no NUL. Give the ' +
        `column \`${name.replaceAll('\0', '\\0')}\` another alias.`,
    );
}

/** Returns the statement that creates the table of an export under this quoted name. */
export function tableStatement(table: string, layout: Layout): string {
  const filled = nullableKeys(layout);
  const columns = layout.columns.map(
    ({ name, type }) => `${quoted(name)} ${types[type]}${filled.includes(name) ? ' NOT NULL' : ''}`,
  );
  return `CREATE TABLE IF NOT EXISTS ${table} (${columns.join(', ')})`;
}

/**
 * Finds the kind of a table or view of the schema in the information schema (`BASE TABLE`, `VIEW`),
 * or undefined if the role may see none.
 */
async function findTableKind(connection: Connection, table: string): Promise<string | undefined> {
  const [found] = await connection.rows<{ kind: string }>(
    'SELECT TABLE_TYPE AS "kind" FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = ? ' +
      'AND TABLE_NAME = ?',
    [connection.config.schema, table],
  );
  return found?.kind;
}

const id = (name: string) => `${quoted(name)} VARCHAR(36) NOT NULL`;

/**
 * Returns the statement that creates the table of rejected rows; a long record has several rows, in
 * the order of `part`.
 */
export function rejectedStatement(rejected: string): string {
  const columns = [
    ...['delivery_id', 'batch_export_id', 'run_id'].map(id),
    ...['number', 'part', 'slice'].map((name) => `${quoted(name)} NUMBER(38, 0) NOT NULL`),
    ...['code', 'reason', 'record'].map((name) => `${quoted(name)} VARCHAR NOT NULL`),
  ];
  return `CREATE TABLE IF NOT EXISTS ${rejected} (${columns.join(', ')}, "rejected_at"
    TIMESTAMP_NTZ(6) NOT NULL DEFAULT CAST(CURRENT_TIMESTAMP AS TIMESTAMP_NTZ(6)))`;
}

/**
 * Returns the statement that creates the table of receipts, which also contains claims, without a
 * manifest.
 */
export function receiptsStatement(receipts: string): string {
  const columns = [
    ...['delivery_id', 'attempt_id', 'batch_export_id', 'run_id'].map(id),
    '"table_name" VARCHAR NOT NULL',
    '"records" NUMBER(38, 0)',
    '"manifest" VARCHAR',
  ];
  return `CREATE TABLE IF NOT EXISTS ${receipts} (${columns.join(', ')},
    "written_at" TIMESTAMP_NTZ(6) NOT NULL)`;
}

/**
 * Refuses an unsuitable table: anything but Snowflake's own table, and one with missing columns,
 * which it lists.
 */
export async function checkTable(
  connection: Connection,
  layout: Layout,
  found: FoundColumn[],
): Promise<void> {
  const { table, name } = connection.target;
  const kind = await findTableKind(connection, table);
  if (kind === undefined)
    throw new NonRetryableError(
      'permission_denied',
      `The role may not see the table ${name}; grant it SELECT, INSERT and UPDATE on it.`,
    );
  if (kind !== 'BASE TABLE') {
    throw new NonRetryableError(
      'table_unsuitable',
      `${name} is of the kind ${kind}; rows and receipt can be shown at once only in a ` +
        'standard table. Export to such a table.',
    );
  }
  const names = new Set(found.map((column) => column.name));
  const missing = layout.columns
    .filter((column) => !names.has(column.name))
    .map((column) => `${column.name} ${types[column.type]}`);
  requireNoneMissing(name, missing);
  requireFilledKeys(name, layout, found);
}

/** Finds the columns of a table, or undefined if the role may see none. */
export async function findColumns(
  connection: Connection,
  table: string,
): Promise<FoundColumn[] | undefined> {
  const found = await connection.rows<FoundColumn & { is_nullable: string }>(
    'SELECT COLUMN_NAME AS "name", DATA_TYPE AS "type", IS_NULLABLE AS "is_nullable" FROM ' +
      'INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?',
    [connection.config.schema, table],
  );
  if (found.length === 0) return undefined;
  return found.map(({ is_nullable, ...column }) => ({
    ...column,
    takes_no_null: is_nullable === 'NO',
  }));
}

/** Returns the types of columns by name. */
export function typesOf(found: FoundColumn[]): TableColumns {
  return new Map(found.map(({ name, type }) => [name, type]));
}

/**
 * Returns a column's value from its text. JSON becomes a VARIANT: text that Snowflake cannot read
 * as JSON stays a string with the same text, and the last of repeated keys of an object wins. A
 * column of text stores it unchanged, to the byte.
 */
export function valueExpression(column: Column, text: string, columns: TableColumns): string {
  if (column.type !== 'json') return `CAST(${text} AS ${types[column.type]})`;
  const type = columns.get(column.name);
  if (type === 'TEXT') return text;
  const variant = `COALESCE(TRY_PARSE_JSON(${text}, 'd'), TO_VARIANT(${text}))`;
  return type === 'OBJECT' || type === 'ARRAY' ? `CAST(${variant} AS ${type})` : variant;
}

/**
 * Returns the text of a column's value, for a comparison with the written one; `value` names it. An
 * instant has its microseconds, while a cast would have the digits of the account's format. JSON is
 * that of the VARIANT, so that a string that looks like an object differs from an object.
 */
export function textExpression(column: Column, value: string, type: string | undefined): string {
  if (column.type === 'timestamp')
    return `TO_VARCHAR(CAST(${value} AS TIMESTAMP_NTZ(6)), 'YYYY-MM-DD HH24:MI:SS.FF6')`;
  return column.type === 'json' && type !== 'TEXT'
    ? `TO_JSON(${value})`
    : `CAST(${value} AS VARCHAR)`;
}

// Longer than any column's name (64 characters), so that it cannot be one.
const rank_name = quoted(
  'sluice_rank_among_the_rows_of_this_delivery_that_have_the_same_key_newest_first',
);

/**
 * Returns the statement that shows staged rows; `stage` is the text after FROM. Merged rows: of
 * equal keys the greatest row counts, and only a greater row replaces a row of the table.
 */
export function showStatement(table: string, stage: string, layout: Layout): string {
  const names = layout.columns.map((column) => quoted(column.name));
  const list = names.join(', ');
  const came = (name: string) => `came.${quoted(name)}`;
  const there = (name: string) => `there.${quoted(name)}`;
  const merge = mergeWords(layout, { came, there, tie }, quoted);
  if (merge === undefined) return `INSERT INTO ${table} (${list}) SELECT ${list} FROM ${stage}`;
  const keys = merge.key.map(quoted).join(', ');
  const ranked = `SELECT ${list}, ROW_NUMBER() OVER (PARTITION BY ${keys}
    ORDER BY ${merge.order}) AS ${rank_name} FROM ${stage}`;
  const update =
    merge.changed.length === 0
      ? ''
      : ` WHEN MATCHED AND (${merge.newer}) THEN UPDATE SET ` +
        merge.changed.map((name) => `${quoted(name)} = ${came(name)}`).join(', ');
  return (
    `MERGE INTO ${table} AS there USING (SELECT ${list} FROM (${ranked}) AS ranked
      WHERE ${rank_name} = 1) AS came ON
      ${merge.key.map((name) => `${there(name)} = ${came(name)}`).join(' AND ')}` +
    `${update} WHEN NOT MATCHED THEN INSERT (${list}) VALUES ` +
    `(${names.map((name) => `came.${name}`).join(', ')})`
  );
}

/** Two digests: two values may share one of 64 bits. */
function tie(names: string[], value: (name: string) => string): string {
  const values = names.map(value).join(', ');
  return `CONCAT(HASH(${values}), ' ', HASH(0, ${values}))`;
}
