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

/** Most bytes of a VARCHAR. */
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

/** Returns the type of a column of a table that the export creates. */
export function typeOf(config: RedshiftConfig, { type }: Column): string {
  if (type !== 'json') return types[type];
  return config.properties_data_type === 'super' ? 'super' : types.text;
}

/** Types that store every value of a typed column completely, as far as Redshift can. */
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

// Redshift has no such columns, but reserves PostgreSQL's names for them.
const system_columns = new Set(['oid', 'tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid']);
/** One less than the table's limit: that of the slices adds one, for the number of the write. */
const columns_max = 1_599;

/**
 * Lists the columns of a query that Redshift cannot store. Its names ignore case unless the cluster
 * preserves it.
 */
export function redshiftColumnFaults(columns: Column[]): string[] {
  const faults: string[] = [];
  const names = new Set<string>();
  for (const { name } of columns) {
    const folded = name.toLowerCase();
    if (Buffer.byteLength(name) > 127)
      faults.push(
        `Redshift accepts names of at most 127 bytes: give the column \`${name}\` a shorter alias.`,
      );
    if (system_columns.has(folded))
      faults.push(`Redshift reserves the name \`${name}\`: give the column another alias.`);
    if (names.has(folded))
      faults.push(`Redshift ignores case in names: give the column \`${name}\` another alias.`);
    names.add(folded);
  }
  return columns.length > columns_max
    ? [...faults, `A table of Redshift has at most ${columns_max} columns.`]
    : faults;
}

/**
 * Returns the statement that creates the table of an export if it is missing. Redshift does not
 * enforce keys, so the table has none; it does refuse NULL.
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
 * Returns the statement that creates the table of receipts; a long manifest has several rows, in
 * the order of `part`.
 */
export function receiptsStatement(receipts: string): string {
  return `CREATE TABLE IF NOT EXISTS ${receipts} (delivery_id varchar(36) NOT NULL,
    part integer NOT NULL, batch_export_id varchar(36) NOT NULL, run_id varchar(36) NOT NULL,
    table_name varchar(512) NOT NULL, records bigint NOT NULL,
    manifest varchar(${varchar_bytes_max}) NOT NULL,
    delivered_at timestamp NOT NULL DEFAULT GETDATE())`;
}

/**
 * Finds the columns of a table, or undefined if it does not exist. Quoted names lose their case
 * unless the cluster preserves it.
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
 * Returns the statement that creates the table of rejected rows; a long record has several rows, in
 * the order of `part`.
 */
export function rejectedStatement(rejected: string): string {
  return `CREATE TABLE IF NOT EXISTS ${rejected} (delivery_id varchar(36) NOT NULL,
    "number" integer NOT NULL, part integer NOT NULL, batch_export_id varchar(36) NOT NULL,
    run_id varchar(36) NOT NULL, slice integer NOT NULL, code varchar(100) NOT NULL,
    reason varchar(${varchar_bytes_max}) NOT NULL, "record" varchar(${varchar_bytes_max}) NOT NULL,
    rejected_at timestamp NOT NULL DEFAULT GETDATE())`;
}

/**
 * Returns the statement that creates a temporary table with the columns of the export, each with
 * the target's type, and NOT NULL if the target's is.
 */
export function apartStatement(name: string, columns: Column[], found: FoundColumn[]): string {
  const there = new Map(found.map((column) => [column.name.toLowerCase(), column]));
  const list = columns.map((column) => {
    const { type = '', takes_no_null = false } = there.get(column.name.toLowerCase()) ?? {};
    return `${quoted(column.name)} ${type}${takes_no_null ? ' NOT NULL' : ''}`;
  });
  return `CREATE TEMPORARY TABLE ${name} (${list.join(', ')})`;
}

/** Returns the columns of the export with SUPER values, according to the table. */
export function supersOf(columns: Column[], found: FoundColumn[]): ReadonlySet<string> {
  const types = new Map(found.map(({ name, type }) => [name.toLowerCase(), type]));
  const supers = columns.filter(({ name }) => types.get(name.toLowerCase()) === 'super');
  return new Set(supers.map(({ name }) => name));
}

/**
 * Redshift cannot cast a boolean to text; a SUPER is JSON text already, which may be too long for a
 * VARCHAR.
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
 * Creates a table. A table that another session creates at the same moment is accepted. In an open
 * transaction, such as that of a connection test, no further query is possible, so there it is a
 * fault.
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
 * The table of a session that collects rows before they are shown; it has the target's types and
 * ends with the session.
 */
export const stage = 'sluice_stage';

/** Returns the statement that creates the stage. */
export function stageStatement(target: string, columns: Column[]): string {
  return `CREATE TEMPORARY TABLE ${stage} AS SELECT ${columnList(columns)} FROM ${target} LIMIT 0`;
}

/**
 * Returns the statement that creates a table like the target for slices that outlive their session;
 * `column` identifies the write of a row.
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
 * Returns the statements that move the rows of the source, a quoted table, into the target. Merged
 * rows: the greatest of several rows of one key counts, and only a greater row replaces a row of
 * the table. `found` are the columns of the target.
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
 * Returns a digest of one length for every value. For a SUPER that is too long for a text, only the
 * length counts: Redshift has no order of such values.
 */
export function digestOf(value: string, type: string | undefined): string {
  const text =
    type === 'super'
      ? `CASE WHEN JSON_SIZE(${value}) <= 65000 THEN JSON_SERIALIZE(${value})
          ELSE CAST(JSON_SIZE(${value}) AS varchar) END`
      : textOf(value, type);
  return `COALESCE(MD5(${text}), '${'0'.repeat(32)}')`;
}
