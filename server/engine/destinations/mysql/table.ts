import { NonRetryableError } from '../../model/destination/errors.ts';
import type { Column, ColumnType } from '../../model/models/column.ts';
import { foldedKeyError, requireFitting, requireUniqueIndex } from '../sql_tables/fitting.ts';
import type { FoundColumn } from '../sql_tables/fitting.ts';
import { mergeOf } from '../sql_tables/layout.ts';
import type { Layout } from '../sql_tables/layout.ts';
import { mergeWords, requireFilledKeys } from '../sql_tables/merging.ts';
import { quoted } from './config.ts';
import type { Connection } from './connection.ts';

/**
 * JSON stays text: MySQL's own JSON type rounds numbers, and refuses some, which would stop an
 * export because of one event.
 */
const types: Record<ColumnType, string> = {
  uuid: 'char(36)',
  text: 'longtext',
  json: 'longtext',
  timestamp: 'datetime(6)',
  date: 'date',
  decimal: 'decimal(38,9)',
  integer: 'bigint',
  float: 'double',
  boolean: 'boolean',
};

/** Returns the type of a column of a table that the export creates. */
export function typeOf({ type }: Column): string {
  return types[type];
}

/** Types that store every value of a typed column completely. */
export const whole_types: Record<ColumnType, RegExp> = {
  uuid: /^char\(36\)$/,
  text: /^longtext$/,
  json: /^longtext$/,
  timestamp: /^datetime\(6\)$/,
  integer: /^bigint(?:\(\d+\))?$/,
  float: /^double$/,
  boolean: /^(?:boolean|tinyint\(1\))$/,
  date: /^date$/,
  decimal: /^decimal\(38,9\)$/,
};

/** An index of InnoDB holds 3,072 bytes of a key, four for a character. */
function keyTextType(key: Column[]): string {
  const uuids = key.filter(({ type }) => type === 'uuid').length;
  const texts = key.filter(({ type }) => type === 'text').length;
  const numbers = key.length - uuids - texts;
  const characters = Math.floor((3_072 - uuids * 144 - numbers * 8) / 4 / Math.max(texts, 1));
  return `varchar(${Math.min(700, characters)})`;
}

/**
 * Collations of MySQL and MariaDB that distinguish every two texts, also by trailing blanks; the
 * last one exists everywhere and ignores such blanks.
 */
const exact_collations = ['utf8mb4_0900_bin', 'utf8mb4_nopad_bin', 'utf8mb4_bin'];

/**
 * Two less than the table's limit: the stage adds two, for the number of the row and that of its
 * write.
 */
const columns_max = 1_015;

/**
 * Lists the columns of a query that MySQL cannot store. Its names ignore case, and have no
 * characters beyond U+FFFF and no trailing blank.
 */
export function mySqlColumnFaults(columns: Column[]): string[] {
  const faults: string[] = [];
  const names = new Set<string>();
  for (const { name } of columns) {
    if (/[\u{10000}-\u{10ffff}]| $/u.test(name))
      faults.push(
        'MySQL accepts no names with characters beyond U+FFFF or a space at the end: give the ' +
          `column \`${name}\` another alias.`,
      );
    if (names.has(name.toLowerCase()))
      faults.push(`MySQL ignores case in names: give the column \`${name}\` another alias.`);
    names.add(name.toLowerCase());
  }
  return columns.length > columns_max
    ? [...faults, `A table of MySQL has at most ${columns_max} columns.`]
    : faults;
}

/** Returns the statement that creates the table of an export, with a primary key for merges. */
export async function tableStatement(
  connection: Connection,
  target: string,
  layout: Layout,
): Promise<string> {
  const { key = [] } = mergeOf(layout) ?? {};
  const isKey = (column: Column) => key.includes(column.name);
  const key_text_type = keyTextType(layout.columns.filter(isKey));
  const typeIn = (column: Column) =>
    isKey(column) && column.type === 'text' ? key_text_type : typeOf(column);
  const columns = layout.columns.map(
    (column) => `${quoted(column.name)} ${typeIn(column)}${isKey(column) ? ' NOT NULL' : ''}`,
  );
  if (key.length > 0) columns.push(`PRIMARY KEY (${key.map(quoted).join(', ')})`);
  const found = await connection.rows<{ name: string }>(
    'SELECT COLLATION_NAME AS name FROM information_schema.COLLATIONS WHERE COLLATION_NAME IN (?)',
    [exact_collations],
  );
  const collation = exact_collations.find((name) => found.some((row) => row.name === name));
  return `CREATE TABLE IF NOT EXISTS ${target} (${columns.join(', ')}) ENGINE = InnoDB CHARACTER
    SET utf8mb4 COLLATE ${collation}`;
}

/**
 * Finds the columns of a table or view in the database of the config, or undefined. A trigger that
 * users need not see may set required values: the server reports missing ones at the first row.
 */
export async function findColumns(
  connection: Connection,
  table: string,
): Promise<FoundColumn[] | undefined> {
  const found = await connection.rows<FoundColumn & { is_computed: number; is_filled: number }>(
    `SELECT COLUMN_NAME AS name, COLUMN_TYPE AS type, COALESCE(GENERATION_EXPRESSION,
      '') <> '' AS is_computed, IS_NULLABLE = 'NO' AS is_filled,
            CASE WHEN DATA_TYPE IN ('date', 'datetime', 'timestamp', 'time') THEN 'D'
                 WHEN DATA_TYPE IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint', 'decimal',
                   'float', 'double', 'year') THEN 'N' ELSE 'S' END AS category
       FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`,
    [connection.config.database, table],
  );
  if (found.length === 0) return undefined;
  return found.map(({ is_computed, is_filled, ...column }) => ({
    ...column,
    is_generated: is_computed === 1,
    takes_no_null: is_filled === 1,
  }));
}

/**
 * Refuses an unsuitable table: with missing or unfit columns, or for merged rows without a unique
 * index on exactly their key. Returns a warning if a column changes values.
 */
export async function checkTable(
  connection: Connection,
  layout: Layout,
  found: FoundColumn[],
): Promise<string | undefined> {
  // Column names ignore case in MySQL.
  const warning = requireFitting(connection.target.name, layout.columns, found, {
    typeOf,
    folds_case: true,
    has_number_booleans: true,
  });
  const merge = mergeOf(layout);
  if (merge !== undefined) {
    await checkKey(connection, layout, merge.key);
    requireFilledKeys(connection.target.name, layout, found);
  }
  return warning;
}

/** Refuses a table of another engine, which has no transactions. */
export async function requireInnoDb(connection: Connection, table: string): Promise<void> {
  const [found] = await connection.rows<{ engine: string | null }>(
    'SELECT ENGINE AS engine FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND ' +
      'TABLE_NAME = ?',
    [connection.config.database, table],
  );
  if (found !== undefined && found.engine?.toLowerCase() !== 'innodb')
    throw new NonRetryableError(
      'table_unsuitable',
      `The table ${connection.config.database}.${table} has the engine ` +
        `${found.engine ?? 'of a view'}; a delivery can be shown at once only in InnoDB. ` +
        'Export to such a table.',
    );
}

type UniqueColumn = {
  index_name: string;
  name: string | null;
  collation: string | null;
  is_whole: number;
  never_repeats: number;
};

/** Returns the columns of the table's unique indexes. */
function uniqueColumns({ rows, config, target }: Connection): Promise<UniqueColumn[]> {
  return rows<UniqueColumn>(
    `SELECT s.INDEX_NAME AS index_name, s.COLUMN_NAME AS name, c.COLLATION_NAME AS collation,
            s.SUB_PART IS NULL AS is_whole,
            COALESCE(c.EXTRA LIKE '%auto_increment%' OR c.IS_NULLABLE = 'YES'
              AND COALESCE(c.COLUMN_DEFAULT, 'NULL') = 'NULL'
              AND COALESCE(c.GENERATION_EXPRESSION, '') = '', 0) AS never_repeats
       FROM information_schema.STATISTICS AS s LEFT JOIN information_schema.COLUMNS AS c
         ON c.TABLE_SCHEMA = s.TABLE_SCHEMA AND c.TABLE_NAME = s.TABLE_NAME
           AND c.COLUMN_NAME = s.COLUMN_NAME
             WHERE s.TABLE_SCHEMA = ? AND s.TABLE_NAME = ? AND s.NON_UNIQUE = 0`,
    [config.database, target.table],
  );
}

/**
 * ON DUPLICATE KEY applies to all unique indexes: by one that is not the key, or that treats
 * different texts as equal, a row would replace another one.
 */
async function checkKey(
  connection: Connection,
  layout: Layout,
  key: readonly string[],
): Promise<void> {
  const { name } = connection.target;
  const columns = await uniqueColumns(connection);
  const indexes = Object.values(Object.groupBy(columns, ({ index_name }) => index_name)).map(
    (found) => found!,
  );
  const folded_key = key.map((one) => one.toLowerCase());
  const hasKey = (found: UniqueColumn[]) =>
    folded_key.every((one) =>
      found.some((column) => column.name?.toLowerCase() === one && column.is_whole === 1),
    );
  requireUniqueIndex(
    name,
    key,
    indexes.filter((found) => found.length === key.length && hasKey(found)),
  );
  const given = new Set(layout.columns.map((column) => column.name.toLowerCase()));
  const other = indexes.find(
    (found) =>
      !hasKey(found) &&
      !found.some(
        (column) =>
          column.never_repeats === 1 &&
          column.name !== null &&
          !given.has(column.name.toLowerCase()),
      ),
  );
  if (other !== undefined)
    throw new NonRetryableError(
      'table_unsuitable',
      `Rows are merged by (${key.join(', ')}), but the table ${name} has another unique ` +
        `index, ${other[0]!.index_name}, and MySQL would merge different rows by it. Drop it, ` +
        'or export to another table.',
    );
  const folded = columns.find(
    (column) =>
      folded_key.includes(column.name?.toLowerCase() ?? '') &&
      /_[ac]i(_|$)/.test(column.collation ?? ''),
  );
  if (folded === undefined) return;
  const wanted = keyTextType(layout.columns.filter((column) => key.includes(column.name)));
  throw foldedKeyError(name, {
    name: folded.name!,
    found: folded.collation!,
    wanted: `${wanted} COLLATE utf8mb4_bin`,
  });
}

/**
 * Returns the text before and after the rows in the INSERT that shows them. A merged row only
 * replaces the existing one if it is greater; otherwise the server writes nothing.
 */
export function insertStatement(target: string, layout: Layout): { before: string; after: string } {
  const before = `INSERT INTO ${target} (${columnList(layout.columns)}) `;
  // With the table's name: in an INSERT from a stage, its columns have the same names.
  const there = (name: string) => `${target}.${quoted(name)}`;
  const came = (name: string) => `VALUES(${quoted(name)})`;
  const merge = mergeWords(layout, { came, there, tie }, quoted);
  if (merge === undefined) return { before, after: '' };
  const key = there(merge.key[0]!);
  if (merge.changed.length === 0)
    return { before, after: ` ON DUPLICATE KEY UPDATE ${key} = ${key}` };
  // Assignments run from left to right, and later ones would see the new versions: so the
  // comparison runs once, first.
  const first = `${key} = IF(@sluice_is_newer := (${merge.newer}), ${key}, ${key})`;
  const others = merge.changed.map(
    (name) => `${there(name)} = IF(@sluice_is_newer, ${came(name)}, ${there(name)})`,
  );
  return { before, after: ` ON DUPLICATE KEY UPDATE ${[first, ...others].join(', ')}` };
}

const no_digest = '0'.repeat(64);

/** Digests of one length, because a collation may treat different texts as equal. */
function tie(names: string[], value: (name: string) => string): string {
  const digests = names.map((name) => `COALESCE(SHA2(${value(name)}, 256), '${no_digest}')`);
  return `CONCAT(${digests.join(', ')})`;
}

/** Returns the column names as a SQL list. */
export function columnList(columns: Column[]): string {
  return columns.map(({ name }) => quoted(name)).join(', ');
}
