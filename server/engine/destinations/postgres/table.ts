import { NonRetryableError } from '../../model/destination/errors.ts';
import type { Delivery } from '../../model/destination/destination.ts';
import type { Column, ColumnType } from '../../model/models/column.ts';
import {
  foldedKeyError,
  narrowedColumns,
  requireFitting,
  requireUniqueIndex,
} from '../sql_tables/fitting.ts';
import type { Dialect, FoundColumn } from '../sql_tables/fitting.ts';
import {
  hasOwn,
  isMerged,
  keyColumn,
  newerCondition,
  person_key,
  quoted,
  versionColumns,
} from '../sql_tables/layout.ts';
import type { Layout } from '../sql_tables/layout.ts';
import type { Connection } from '../sql_tables/postgres_connection.ts';
import { isThereAlready } from '../sql_tables/postgres_faults.ts';
import { targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';

const types: Record<ColumnType, string> = {
  uuid: 'text',
  text: 'text',
  json: 'jsonb',
  timestamp: 'timestamptz',
  integer: 'bigint',
  float: 'double precision',
  boolean: 'boolean',
};

/** The statement that creates the table of an export; persons get a primary key to be merged by. */
function tableStatement(target: string, delivery: Layout): string {
  const columns = delivery.columns.map((column) => `${quoted(column.name)} ${types[column.type]}`);
  if (isMerged(delivery)) columns.push(`PRIMARY KEY (${person_key.map(quoted).join(', ')})`);
  return `CREATE TABLE IF NOT EXISTS ${target} (${columns.join(', ')})`;
}

/**
 * Creates the table and the table of receipts in the open transaction where they are missing, and
 * refuses a table that cannot take the export before anything is written: missing columns and those
 * that no row of the export fits are all named, persons need a unique index on their key. The table
 * stays locked as for writing, so that its columns stay and a wait for another session's lock
 * happens here, bounded by `lock_timeout` (SQLSTATE 55P03).
 * Gives a warning where a column changes values.
 */
export async function prepareTables(
  connection: Connection,
  config: PostgresConfig,
  delivery: Layout,
): Promise<string | undefined> {
  const target = targetOf(config);
  const [schema] = await connection.rows('SELECT 1 FROM pg_namespace WHERE nspname = $1', [
    target.schema,
  ]);
  if (schema === undefined)
    throw new NonRetryableError(
      'schema_missing',
      `There is no schema ${target.schema} in the database; create it or change the key schema.`,
    );
  await createTable(connection, target.quoted, tableStatement(target.quoted, delivery));
  await createTable(
    connection,
    target.receipts,
    `CREATE TABLE IF NOT EXISTS ${target.receipts} (delivery_id uuid PRIMARY KEY,
      batch_export_id uuid NOT NULL, run_id uuid NOT NULL, table_name text NOT NULL,
      records bigint NOT NULL, manifest text NOT NULL,
      delivered_at timestamptz NOT NULL DEFAULT now())`,
  );
  await lockTable(connection, target.quoted);
  await checkKind(connection, target.quoted, target.name);
  const warning = await checkColumns(connection, target.quoted, target.name, delivery.columns);
  if (isMerged(delivery)) await checkUniqueIndex(connection, target.quoted, target.name);
  return warning;
}

/**
 * A table that is there is not created again, because even IF NOT EXISTS needs the right to create
 * one. One that another session creates at the same moment is waited for, and is there then: the
 * open transaction goes on from before the statement.
 */
export async function createTable(
  connection: Connection,
  name: string,
  statement: string,
): Promise<void> {
  if (await tableExists(connection, name)) return;
  await connection.rows('SAVEPOINT sluice_create');
  try {
    await connection.rows(statement);
  } catch (error) {
    if (!isThereAlready(error)) throw error;
    await connection.rows('ROLLBACK TO SAVEPOINT sluice_create');
  }
  await connection.rows('RELEASE SAVEPOINT sluice_create');
}

/**
 * ROW EXCLUSIVE is the lock that COPY takes anyway: writers do not exclude each other by it. Only
 * tables can be locked so, not foreign ones; views are left to COPY.
 */
async function lockTable(connection: Connection, target: string): Promise<void> {
  const [table] = await connection.rows(
    "SELECT 1 FROM pg_class WHERE oid = to_regclass($1) AND relkind IN ('r', 'p')",
    [target],
  );
  if (table !== undefined) await connection.rows(`LOCK TABLE ${target} IN ROW EXCLUSIVE MODE`);
}

/** True when there is a table, view or partitioned table of this quoted name. */
export async function tableExists(connection: Connection, name: string): Promise<boolean> {
  const [row] = await connection.rows<{ found: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS found',
    [name],
  );
  return row?.found === true;
}

/** Into a view COPY goes only where a trigger takes the rows instead. */
async function checkKind(connection: Connection, target: string, name: string): Promise<void> {
  const [view] = await connection.rows(
    `SELECT 1 FROM pg_class AS c WHERE c.oid = to_regclass($1)
       AND (c.relkind = 'm' OR c.relkind = 'v' AND NOT EXISTS (SELECT 1 FROM pg_trigger AS t
         WHERE t.tgrelid = c.oid AND t.tgtype::int & 68 = 68))`,
    [target],
  );
  if (view !== undefined)
    throw new NonRetryableError(
      'table_unsuitable',
      `${name} is a view, which takes no rows by COPY; export to a table.`,
    );
}

const dialect: Dialect = {
  typeOf: ({ type }) => types[type],
  folds_case: false,
  has_number_booleans: false,
};

async function checkColumns(
  connection: Connection,
  target: string,
  name: string,
  columns: Column[],
): Promise<string | undefined> {
  return requireFitting(name, columns, await findColumns(connection, target), dialect);
}

/** One sentence that names the columns of the table that change values, where there are any. */
export async function findNarrowed(
  connection: Connection,
  { quoted: target, name }: { quoted: string; name: string },
  columns: Column[],
): Promise<string | undefined> {
  return narrowedColumns(name, columns, await findColumns(connection, target), dialect);
}

/** A trigger before each row may give what the export does not bring. */
function findColumns(connection: Connection, target: string): Promise<FoundColumn[]> {
  return connection.rows<FoundColumn>(
    `SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
      t.typcategory AS category, a.attgenerated <> '' OR a.attidentity = 'a' AS is_generated,
            a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AND t.typdefault IS NULL
              AND NOT EXISTS (
              SELECT 1 FROM pg_trigger AS g WHERE g.tgrelid = a.attrelid
                AND g.tgtype::int & 7 = 7) AS must_be_given
       FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
         WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped`,
    [target],
  );
}

async function checkUniqueIndex(
  connection: Connection,
  target: string,
  name: string,
): Promise<void> {
  const found = await connection.rows(
    `SELECT 1 FROM pg_index AS i WHERE i.indrelid = to_regclass($1) AND i.indisunique
      AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indnkeyatts = 2
       AND (SELECT array_agg(a.attname::text ORDER BY a.attname) FROM pg_attribute AS a
         WHERE a.attrelid = i.indrelid AND a.attnum = ANY ((i.indkey::int2[])[0:1])) =
         ARRAY['distinct_id', 'team_id']`,
    [target],
  );
  requireUniqueIndex(name, found);
  // As JSON, because servers before PostgreSQL 12 do not have that column.
  const [folded] = await connection.rows<{ by: string }>(
    `SELECT CASE WHEN t.typname = 'citext' THEN 'citext' ELSE c.collname END AS by
       FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
         LEFT JOIN pg_collation AS c ON c.oid = a.attcollation
           AND to_jsonb(c) ->> 'collisdeterministic' = 'false'
           WHERE a.attrelid = to_regclass($1) AND a.attname = 'distinct_id'
             AND (t.typname = 'citext' OR c.oid IS NOT NULL)`,
    [target],
  );
  if (folded !== undefined) throw foldedKeyError(name, folded.by, 'text');
}

/**
 * Merges the staged rows: a row of the table gives way only to one with higher versions; where the
 * export has no versions the newer delivery wins. Of several staged versions of a person the
 * highest counts.
 */
export function mergeStatement(target: string, stage: string, columns: Column[]): string {
  const names = columns.map((column) => column.name);
  const versions = versionColumns({ columns }).map(quoted);
  const changed = names
    .filter((column) => !person_key.includes(column))
    .map((column) => `${quoted(column)} = EXCLUDED.${quoted(column)}`);
  const key = person_key.map(quoted).join(', ');
  const list = names.map(quoted).join(', ');
  const order = [key, ...versions.map((version) => `${version} DESC NULLS LAST`)].join(', ');
  const newer = newerCondition(versions, {
    came: (version) => `EXCLUDED.${version}`,
    there: (version) => `t.${version}`,
  });
  const update =
    changed.length === 0
      ? 'DO NOTHING'
      : `DO UPDATE SET ${changed.join(', ')}${newer === undefined ? '' : ` WHERE ${newer}`}`;
  return `INSERT INTO ${target} AS t (${list}) SELECT DISTINCT ON (${key}) ${list} FROM ${stage}
    ORDER BY ${order} ON CONFLICT (${key}) ${update}`;
}

/**
 * Deletes rows by the key of their model, of the project where rows say it, in the open
 * transaction.
 */
export async function eraseRows(
  connection: Connection,
  target: string,
  delivery: Delivery,
  keys: string[],
): Promise<void> {
  // Without a type, so that the server takes the column's own and its index.
  const statement = `DELETE FROM ${target} WHERE ${quoted(keyColumn(delivery)!)} = ANY ($1)`;
  await (hasOwn(delivery.columns, 'team_id')
    ? connection.rows(`${statement} AND ${quoted('team_id')} = $2`, [keys, delivery.team_id])
    : connection.rows(statement, [keys]));
}
