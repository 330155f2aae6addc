import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Column } from '../../model/models/column.ts';
import { quoted } from '../sql_tables/layout.ts';
import type { Connection } from './connection.ts';
import { csvParts } from './csv_parts.ts';

/**
 * An internal stage and a table of text, both temporary: no other session sees them, and they end
 * with this one.
 */
export type Loader = {
  /**
   * Loads ClickHouse's tab-separated text into the table of text in place of its earlier rows, and
   * returns the number of rows that Snowflake loaded. `textColumn` names the columns. Rejects with
   * the error of `bytes` if they fail; the table is unchanged then.
   */
  load(columns: Column[], bytes: Readable): Promise<number>;
  /** The quoted name of the table of text. */
  table: string;
  /**
   * Copies the rows after one number up to another into their own table, and returns its quoted
   * name: Snowflake does not promise to filter rows before it converts their values.
   */
  copyPart(from: number, to: number): Promise<string>;
};

/** Only CSV as `csvParts` writes it: an error of one row is an error of the load. */
const file_format =
  `(TYPE = CSV COMPRESSION = GZIP RECORD_DELIMITER = '\\n' FIELD_DELIMITER = ',' ` +
  `FIELD_OPTIONALLY_ENCLOSED_BY = '"' ESCAPE = NONE ESCAPE_UNENCLOSED_FIELD = NONE NULL_IF = () ` +
  'EMPTY_FIELD_AS_NULL = TRUE TRIM_SPACE = FALSE SKIP_BLANK_LINES = FALSE ' +
  'ERROR_ON_COLUMN_COUNT_MISMATCH = TRUE REPLACE_INVALID_CHARACTERS = FALSE ' +
  `SKIP_BYTE_ORDER_MARK = FALSE ENCODING = 'UTF8')`;

/** The column of the table of text that counts the rows from 1 on. */
const row_column = quoted('c0');

/** Returns the column of the table of text for the column at this position. */
export function textColumn(index: number): string {
  return quoted(`c${index + 1}`);
}

/** Returns a name for temporary objects of this session, which no other session uses. */
export function temporaryName(purpose: string): string {
  return `sluice_${purpose}_${randomBytes(8).toString('hex')}`;
}

/** Creates a stage in the session. */
export async function openLoader(connection: Connection): Promise<Loader> {
  const stage = temporaryName('stage');
  const table = quoted(temporaryName('text'));
  const part = quoted(temporaryName('part'));
  await connection.rows(`CREATE TEMPORARY STAGE ${quoted(stage)}`);
  let loads = 0;
  return {
    table,
    copyPart: async (from, to) => {
      await connection.rows(
        `CREATE OR REPLACE TEMPORARY TABLE ${part} AS SELECT * FROM ${table}
          WHERE ${row_column} > ${from} AND ${row_column} <= ${to}`,
      );
      return part;
    },
    load: async (columns, bytes) => {
      // Each load has its own folder, so that the next one does not load the files of a failed one.
      const folder = `load_${(loads += 1)}`;
      let parts = 0;
      for await (const part of csvParts(columns, bytes))
        await connection.put(stage, folder, `part_${(parts += 1)}.csv.gz`, part);
      const texts = columns.map((_column, index) => `${textColumn(index)} VARCHAR`);
      await connection.rows(
        `CREATE OR REPLACE TEMPORARY TABLE ${table} (${row_column} NUMBER(38, 0), ` +
          `${texts.join(', ')})`,
      );
      if (parts === 0) return 0;
      const files = await connection.rows<{ rows_loaded?: number }>(
        `COPY INTO ${table} FROM @${quoted(stage)}/${folder}/ FILE_FORMAT = ${file_format} ON_ERROR
          = ABORT_STATEMENT PURGE = TRUE`,
      );
      return files.reduce((sum, file) => sum + (file.rows_loaded ?? 0), 0);
    },
  };
}
