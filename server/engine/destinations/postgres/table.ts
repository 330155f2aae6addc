import { NonRetryableError } from '../../model/destination/errors.ts';
import type { ColumnType } from '../../model/models/column.ts';
import { foldedKeyError, requireFitting, requireUniqueIndex } from '../sql_tables/fitting.ts';
import type { FoundColumn } from '../sql_tables/fitting.ts';
import { columnList, mergeOf, quoted } from '../sql_tables/layout.ts';
import type { Layout } from '../sql_tables/layout.ts';
import { mergeWords, requireFilledKeys } from '../sql_tables/merging.ts';
import type { Rivals } from '../sql_tables/merging.ts';
import type { Target } from '../sql_tables/target.ts';
import type { Connection } from '../sql_tables/postgres/connection.ts';
import { isKeyTwice, isThereAlready } from '../sql_tables/postgres/faults.ts';

const types: Record<ColumnType, string> = {
  uuid: 'text',
  text: 'text',
  json: 'jsonb',
  timestamp: 'timestamptz',
  date: 'date',
  decimal: 'numeric',
  integer: 'bigint',
  float: 'double precision',
  boolean: 'boolean',
};

/** Returns the type of a column of a table that the export creates. */
export function typeOf({ type }: Layout['columns'][number]): string {
  return types[type];
}

/** Types that store every value of a typed column completely. */
export const whole_types: Record<ColumnType, RegExp> = {
  uuid: /^text$/,
  text: /^(?:text|character varying)$/,
  integer: /^(?:bigint|numeric)$/,
  float: /^(?:double precision|numeric)$/,
  boolean: /^boolean$/,
  timestamp: /^timestamp(?:\(6\))? with time zone$/,
  json: /^(?:jsonb?|text)$/,
  date: /^date$/,
  decimal: /^numeric$/,
};

/** Returns the statement that creates the table of an export, with a primary key for merges. */
export function tableStatement(target: string, layout: Layout): string {
  const columns = layout.columns.map((column) => `${quoted(column.name)} ${typeOf(column)}`);
  const merge = mergeOf(layout);
  if (merge !== undefined) columns.push(`PRIMARY KEY (${merge.key.map(quoted).join(', ')})`);
  return `CREATE TABLE IF NOT EXISTS ${target} (${columns.join(', ')})`;
}

/** Refuses a database without the schema. */
export async function requireSchema(connection: Connection, schema: string): Promise<void> {
  const [found] = await connection.rows('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  if (found === undefined)
    throw new NonRetryableError(
      'schema_missing',
      `There is no schema ${schema} in the database; create it or change the key schema.`,
    );
}

/**
 * Creates a table in the open transaction. It waits for one that another session creates at the
 * same moment, and then accepts it: the transaction continues from before the statement.
 */
export async function createTable(connection: Connection, statement: string): Promise<void> {
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
 * Locks the table for writing, so that its columns stay and the wait for another session's lock
 * happens here, bounded by `lock_timeout` (SQLSTATE 55P03). ROW EXCLUSIVE is the lock that COPY
 * takes anyway: it does not exclude other writers. Only tables can be locked like this, not foreign
 * ones; views are left to COPY.
 */
export async function lockTable(connection: Connection, target: string): Promise<void> {
  const [table] = await connection.rows(
    "SELECT 1 FROM pg_class WHERE oid = to_regclass($1) AND relkind IN ('r', 'p')",
    [target],
  );
  if (table !== undefined) await connection.rows(`LOCK TABLE ${target} IN ROW EXCLUSIVE MODE`);
}

/**
 * Finds the columns of a table, view or partitioned table of this quoted name, or undefined. A
 * trigger before each row may set columns that the export lacks.
 */
export async function findColumns(
  connection: Connection,
  name: string,
): Promise<FoundColumn[] | undefined> {
  const found = await connection.rows<FoundColumn>(
    `SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
      t.typcategory AS category, a.attgenerated <> '' OR a.attidentity = 'a' AS is_generated,
      a.attnotnull AS takes_no_null,
            a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AND t.typdefault IS NULL
              AND NOT EXISTS (
              SELECT 1 FROM pg_trigger AS g WHERE g.tgrelid = a.attrelid
                AND g.tgtype::int & 7 = 7) AS must_be_given
       FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
         WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped`,
    [name],
  );
  return found.length === 0 ? undefined : found;
}

/**
 * Refuses a view, missing or unfit columns, and for merged rows a table without a unique index on
 * their key. Returns a warning if a column changes values.
 */
export async function checkTable(
  connection: Connection,
  { quoted: target, name }: Target,
  layout: Layout,
  found: FoundColumn[],
): Promise<string | undefined> {
  await checkKind(connection, target, name);
  const warning = requireFitting(name, layout.columns, found, {
    typeOf,
    folds_case: false,
    has_number_booleans: false,
  });
  const merge = mergeOf(layout);
  if (merge !== undefined) {
    await checkUniqueIndex(connection, { target, name }, merge.key);
    requireFilledKeys(name, layout, found);
  }
  return warning;
}

/** COPY only writes to a view if a trigger stores the rows instead. */
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

async function checkUniqueIndex(
  connection: Connection,
  { target, name }: { target: string; name: string },
  key: readonly string[],
): Promise<void> {
  const found = await connection.rows(
    `SELECT 1 FROM pg_index AS i WHERE i.indrelid = to_regclass($1) AND i.indisunique
      AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indnkeyatts = $2
       AND (SELECT array_agg(a.attname::text ORDER BY a.attname::text COLLATE "C")
         FROM pg_attribute AS a
         WHERE a.attrelid = i.indrelid AND a.attnum = ANY ((i.indkey::int2[])[0:$2 - 1])) =
         (SELECT array_agg(name ORDER BY name COLLATE "C") FROM unnest($3::text[]) AS name)`,
    [target, key.length, key],
  );
  const statement = `CREATE UNIQUE INDEX ON ${target} (${key.map(quoted).join(', ')})`;
  requireUniqueIndex(name, key, found, statement);
  // As JSON, because servers before PostgreSQL 12 do not have that column.
  const [folded] = await connection.rows<{ name: string; found: string }>(
    `SELECT a.attname AS name,
            CASE WHEN t.typname = 'citext' THEN 'citext' ELSE c.collname END AS found
       FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
         LEFT JOIN pg_collation AS c ON c.oid = a.attcollation
           AND to_jsonb(c) ->> 'collisdeterministic' = 'false'
           WHERE a.attrelid = to_regclass($1) AND a.attname = ANY ($2::text[])
             AND (t.typname = 'citext' OR c.oid IS NOT NULL)`,
    [target, key],
  );
  if (folded !== undefined) throw foldedKeyError(name, { ...folded, wanted: 'text' });
}

/**
 * Compares rows of equal versions by their bytes: so even a column of `json`, which has no order,
 * is compared.
 */
const tie: Pick<Rivals, 'tie' | 'greater'> = {
  tie: (names, value) => `ROW(${names.map(value).join(', ')})::record`,
  greater: '*>',
};

/**
 * Merges the rows of `source`, the text after FROM, in the open transaction. Most sources have each
 * key once. A repeated key is an error of the server, after which the statement runs again on
 * reduced rows.
 */
export async function mergeRows(
  connection: Connection,
  target: string,
  source: string,
  layout: Layout,
): Promise<void> {
  await connection.run('SAVEPOINT sluice_merge');
  try {
    await connection.run(mergeStatement(target, source, layout, false));
  } catch (error) {
    if (!isKeyTwice(error)) throw error;
    await connection.run('ROLLBACK TO SAVEPOINT sluice_merge');
    await connection.run(mergeStatement(target, source, layout));
  }
  await connection.run('RELEASE SAVEPOINT sluice_merge');
}

/**
 * Only a greater row replaces a row of the table, and of several rows of one key, the greatest
 * counts (`has_doubles`). One index look-up leaves out rows that would change nothing, so these are
 * neither locked nor written. ON CONFLICT judges the others, and concurrent writes of other
 * sessions.
 */
export function mergeStatement(
  target: string,
  source: string,
  layout: Layout,
  has_doubles = true,
): string {
  const rivals = (came: string) => ({
    came: (name: string) => `${came}.${quoted(name)}`,
    there: (name: string) => `t.${quoted(name)}`,
    ...tie,
  });
  const { key, changed, order, newer } = mergeWords(layout, rivals('came'), quoted)!;
  const keys = key.map(quoted).join(', ');
  const list = columnList(layout.columns);
  const same = key.map((name) => `t.${quoted(name)} = came.${quoted(name)}`).join(' AND ');
  const came = has_doubles
    ? `SELECT DISTINCT ON (${keys}) ${list} FROM ${source} ORDER BY ${keys}, ${order}`
    : `SELECT ${list} FROM ${source} ORDER BY ${keys}`;
  const stays = changed.length === 0 ? '' : ` AND (${newer}) IS NOT TRUE`;
  const set = changed.map((name) => `${quoted(name)} = EXCLUDED.${quoted(name)}`).join(', ');
  const action =
    changed.length === 0
      ? 'NOTHING'
      : `UPDATE SET ${set} WHERE ${mergeWords(layout, rivals('EXCLUDED'), quoted)!.newer}`;
  // OFFSET makes the planner look into the index for each row, instead of reading the whole table.
  return `INSERT INTO ${target} AS t (${list}) SELECT ${list} FROM (${came}) AS came
    WHERE NOT EXISTS (SELECT 1 FROM ${target} AS t WHERE ${same}${stays} OFFSET 0)
    ON CONFLICT (${keys}) DO ${action}`;
}
