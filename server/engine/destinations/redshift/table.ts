import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import type { Column, ColumnType } from '../../model/models/column.ts';
import { columnList, quoted } from '../sql_tables/layout.ts';
import type { Layout } from '../sql_tables/layout.ts';
import { mergeWords, nullableKeys } from '../sql_tables/merging.ts';
import type { Target } from '../sql_tables/target.ts';
import type { Connection } from '../sql_tables/postgres/connection.ts';
import { isThereAlready } from '../sql_tables/postgres/faults.ts';
import type { RedshiftConfig } from './config.ts';
import type { FoundColumn } from '../sql_tables/fitting.ts';

/** Bytes that the longest VARCHAR holds. */
export const varchar_bytes_max = 65_535;

const types: Record<Exclude<ColumnType, 'json'>, string> = {
  uuid: 'varchar(36)',
  text: `varchar(${varchar_bytes_max})`,
  timestamp: 'timestamptz',
  date: 'date',
  decimal: 'numeric(38,9)',
  integer: 'bigint',
  float: 'double precision',
  boolean: 'boolean',
};

/** The type of a column of a table that the export creates. */
export function typeOf(config: RedshiftConfig, { type }: Column): string {
  if (type !== 'json') return types[type];
  return config.properties_data_type === 'super' ? 'super' : types.text;
}

/** Types that hold every value of a typed column whole, as far as Redshift can. */
export const whole_types: Record<ColumnType, RegExp> = {
  uuid: /^character varying/,
  text: /^character varying\(65535\)$/,
  json: /^(?:super|character varying\(65535\))$/,
  timestamp: /^timestamp with time zone$/,
  integer: /^bigint$/,
  float: /^double precision$/,
  boolean: /^boolean$/,
  date: /^date$/,
  decimal: /^numeric\(38,9\)$/,
};

// Redshift has no such columns, but keeps PostgreSQL's names of them to itself.
const system_columns = new Set(['oid', 'tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid']);
/** One less than a table can have: that of the slices has one more, for the number of the write. */
const columns_max = 1_599;

/**
 * Lists the columns of a query that Redshift cannot take. Its names have no letter case unless the
 * cluster is set so.
 */
export function redshiftColumnFaults(columns: Column[]): string[] {
  const faults: string[] = [];
  const names = new Set<string>();
  for (const { name } of columns) {
    const folded = name.toLowerCase();
    if (Buffer.byteLength(name) > 127)
      faults.push(
        `Redshift takes names of at most 127 bytes: give the column \`${name}\` a shorter alias.`,
      );
    if (system_columns.has(folded))
      faults.push(`Redshift keeps the name \`${name}\` to itself: give the column another alias.`);
    if (names.has(folded))
      faults.push(
        `Redshift does not tell upper from lower case in names: give the column \`${name}\` ` +
          'another alias.',
      );
    names.add(folded);
  }
  return columns.length > columns_max
    ? [...faults, `A table of Redshift has at most ${columns_max} columns.`]
    : faults;
}

/**
 * The statement that creates the table of an export where it is missing. Redshift does not enforce
 * keys, so it gets none; it does refuse NULL.
 */
export function tableStatement(name: string, config: RedshiftConfig, layout: Layout): string {
  const filled = nullableKeys(layout);
  const columns = layout.columns.map(
    (column) =>
      `${quoted(column.name)} ${typeOf(config, column)}` +
      (filled.includes(column.name) ? ' NOT NULL' : ''),
  );
  return `CREATE TABLE IF NOT EXISTS ${name} (${columns.join(', ')})`;
}

/**
 * The statement that creates the table of receipts; a long manifest is several rows, in the order
 * of `part`.
 */
export function receiptsStatement(receipts: string): string {
  return `CREATE TABLE IF NOT EXISTS ${receipts} (delivery_id varchar(36) NOT NULL,
    part integer NOT NULL, batch_export_id varchar(36) NOT NULL, run_id varchar(36) NOT NULL,
    table_name varchar(512) NOT NULL, records bigint NOT NULL,
    manifest varchar(${varchar_bytes_max}) NOT NULL,
    delivered_at timestamp NOT NULL DEFAULT GETDATE())`;
}

/**
 * The columns of a table, or undefined when there is no such table. Quoted names lose their letter
 * case unless the cluster is set to keep it.
 */
export async function findColumns(
  connection: Connection,
  schema: string,
  table: string,
): Promise<FoundColumn[] | undefined> {
  const rows = await connection.rows<FoundColumn & { place: string }>(
    `SELECT n.nspname || '.' || c.relname AS place, a.attname AS name, format_type(a.atttypid,
      a.atttypmod) AS type, a.attnotnull AS takes_no_null
       FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN pg_namespace AS n
         ON n.oid = c.relnamespace
      WHERE lower(n.nspname) = lower($1) AND lower(c.relname) = lower($2)
        AND c.relkind IN ('r', 'v') AND a.attnum > 0 AND NOT a.attisdropped`,
    [schema, table],
  );
  const exact = `${schema}.${table}`;
  const own = Map.groupBy(rows, ({ place }) => place);
  return own.get(exact) ?? own.get(exact.toLowerCase());
}

/**
 * The statement that creates the table of rejected rows; a long record is several rows, in the
 * order of `part`.
 */
export function rejectedStatement(rejected: string): string {
  return `CREATE TABLE IF NOT EXISTS ${rejected} (delivery_id varchar(36) NOT NULL,
    "number" integer NOT NULL, part integer NOT NULL, batch_export_id varchar(36) NOT NULL,
    run_id varchar(36) NOT NULL, slice integer NOT NULL, code varchar(100) NOT NULL,
    reason varchar(${varchar_bytes_max}) NOT NULL, "record" varchar(${varchar_bytes_max}) NOT NULL,
    rejected_at timestamp NOT NULL DEFAULT GETDATE())`;
}

/**
 * The statement that creates a temporary table with the columns of the export, of which each has
 * the type of the target and takes no null where the target takes none.
 */
export function apartStatement(name: string, columns: Column[], found: FoundColumn[]): string {
  const there = new Map(found.map((column) => [column.name.toLowerCase(), column]));
  const list = columns.map((column) => {
    const { type = '', takes_no_null = false } = there.get(column.name.toLowerCase()) ?? {};
    return `${quoted(column.name)} ${type}${takes_no_null ? ' NOT NULL' : ''}`;
  });
  return `CREATE TEMPORARY TABLE ${name} (${list.join(', ')})`;
}

/** The columns of the export that hold SUPER values, by those of the table. */
export function supersOf(columns: Column[], found: FoundColumn[]): ReadonlySet<string> {
  const types = new Map(found.map(({ name, type }) => [name.toLowerCase(), type]));
  const supers = columns.filter(({ name }) => types.get(name.toLowerCase()) === 'super');
  return new Set(supers.map(({ name }) => name));
}

/**
 * Redshift casts no truth value to text, and a SUPER comes as JSON text as it is, which a VARCHAR
 * may be too short for.
 */
export function textOf(name: string, type: string | undefined): string {
  if (type === 'super') return name;
  if (type === 'boolean') return `CASE WHEN ${name} THEN 'true' WHEN NOT ${name} THEN 'false' END`;
  return `CAST(${name} AS varchar(${varchar_bytes_max}))`;
}

/** Refuses a database without the schema. */
export async function requireSchema(connection: Connection, schema: string): Promise<void> {
  const [found] = await connection.rows(
    'SELECT 1 FROM pg_namespace WHERE lower(nspname) = lower($1)',
    [schema],
  );
  if (found === undefined)
    throw new NonRetryableError(
      'schema_missing',
      `There is no schema ${schema} in the database; create it or change the key schema.`,
    );
}

/**
 * Creates a table. One that another session creates at the same moment is there then. In an open
 * transaction, as that of a connection test, nothing more can be asked, so there it is a fault.
 */
export async function createTable(connection: Connection, statement: string): Promise<void> {
  try {
    await connection.rows(statement);
  } catch (error) {
    if (!isThereAlready(error)) throw error;
    const isOver = await connection.rows('SELECT 1').then(
      () => false,
      () => true,
    );
    if (!isOver) return;
    throw new RetryableError(
      'conflict',
      'Another session created the table at the same moment; try again.',
      { cause: error },
    );
  }
}

/**
 * The table of a session that rows are collected in before they are shown; it has the types of the
 * target and goes with the session.
 */
export const stage = 'sluice_stage';

/** The statement that creates the stage. */
export function stageStatement(target: string, columns: Column[]): string {
  return `CREATE TEMPORARY TABLE ${stage} AS SELECT ${columnList(columns)} FROM ${target} LIMIT 0`;
}

/**
 * The statement that creates a table like the target for slices that outlive their session;
 * `column` says by which write a row came.
 */
export function sliceTableStatement(
  name: string,
  column: string,
  target: string,
  columns: Column[],
): string {
  return `CREATE TABLE ${name} AS SELECT CAST(0 AS bigint) AS ${column}, ${columnList(columns)}
    FROM ${target} LIMIT 0`;
}

/**
 * The statements that bring the rows of the source, a quoted table, into the target. Merged rows:
 * the greatest of several rows of one key counts, and a row of the table gives way only to a
 * greater one. `found` are the columns of the target.
 */
export function showStatements(
  { quoted: target, table }: Pick<Target, 'quoted' | 'table'>,
  layout: Layout,
  source: string,
  found: FoundColumn[] = [],
): string[] {
  const list = columnList(layout.columns);
  const newest = 'sluice_newest';
  const types = new Map(found.map(({ name, type }) => [name.toLowerCase(), type]));
  const came = (name: string) => `${newest}.${quoted(name)}`;
  const there = (name: string) => `${quoted(table)}.${quoted(name)}`;
  const tie = (names: string[], value: (name: string) => string) =>
    names.map((name) => digestOf(value(name), types.get(name.toLowerCase()))).join(' || ');
  const merge = mergeWords(layout, { came, there, tie }, quoted, nullsLast);
  if (merge === undefined) return [`INSERT INTO ${target} (${list}) SELECT ${list} FROM ${source}`];
  const isSame = merge.key.map((name) => `${there(name)} = ${came(name)}`).join(' AND ');
  return [
    `CREATE TEMPORARY TABLE ${newest} AS SELECT ${list}
      FROM (SELECT ${list}, ROW_NUMBER() OVER (PARTITION BY ${merge.key.map(quoted).join(', ')}
      ORDER BY ${merge.order}) AS sluice_rank FROM ${source}) AS ranked WHERE sluice_rank = 1`,
    `DELETE FROM ${target} USING ${newest} WHERE ${isSame} AND (${merge.newer})`,
    `INSERT INTO ${target} (${list}) SELECT ${list} FROM ${newest} WHERE NOT EXISTS (SELECT 1
      FROM ${target} WHERE ${isSame})`,
    `DROP TABLE ${newest}`,
  ];
}

function nullsLast(name: string): string {
  return `CASE WHEN ${name} IS NULL THEN 1 ELSE 0 END, ${name} DESC`;
}

/**
 * A digest of one length for every value. Of a SUPER that is too long for a text only the length
 * counts: Redshift has no order of such values.
 */
export function digestOf(value: string, type: string | undefined): string {
  const text =
    type === 'super'
      ? `CASE WHEN JSON_SIZE(${value}) <= 65000 THEN JSON_SERIALIZE(${value})
          ELSE CAST(JSON_SIZE(${value}) AS varchar) END`
      : textOf(value, type);
  return `COALESCE(MD5(${text}), '${'0'.repeat(32)}')`;
}
