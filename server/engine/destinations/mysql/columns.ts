import type { Column, ColumnType } from '../../model/models/column.ts';
import { narrowedColumns } from '../sql_tables/fitting.ts';
import type { Dialect, FoundColumn } from '../sql_tables/fitting.ts';
import type { Connection } from './connection.ts';

/**
 * The types of the tables that an export creates. JSON is kept as text: MySQL's own JSON type
 * rounds numbers, and refuses some, which would stop an export for one event.
 */
export const types: Record<ColumnType, string> = {
  uuid: 'char(36)',
  text: 'longtext',
  json: 'longtext',
  timestamp: 'datetime(6)',
  integer: 'bigint',
  float: 'double',
  boolean: 'boolean',
};

/** Names of columns have no letter case in MySQL. */
export const dialect: Dialect = {
  typeOf: ({ type }) => types[type],
  folds_case: true,
  has_number_booleans: true,
};

/** One sentence that names the columns of the table that change values, where there are any. */
export async function findNarrowed(
  connection: Connection,
  columns: Column[],
): Promise<string | undefined> {
  const { name } = connection.target;
  return narrowedColumns(name, columns, await findColumns(connection), dialect);
}

/** The columns of the table, as it is there now. */
export async function findColumns(connection: Connection): Promise<FoundColumn[]> {
  const found = await connection.rows<
    Omit<FoundColumn, 'is_generated' | 'must_be_given'> & { is_generated: number }
  >(
    `SELECT COLUMN_NAME AS name, COLUMN_TYPE AS type, COALESCE(GENERATION_EXPRESSION,
      '') <> '' AS is_generated,
            CASE WHEN DATA_TYPE IN ('date', 'datetime', 'timestamp', 'time') THEN 'D'
                 WHEN DATA_TYPE IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint', 'decimal',
                   'float', 'double', 'year') THEN 'N' ELSE 'S' END AS category
       FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`,
    [connection.config.database, connection.target.table],
  );
  // What must be given may come from a trigger, and users need not see those: the server says it of
  // the first row.
  return found.map((column) => ({
    ...column,
    is_generated: column.is_generated === 1,
    must_be_given: false,
  }));
}
