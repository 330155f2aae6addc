import type { ValueRow } from '../../model/destination/content_source.ts';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import { quoted } from '../sql_tables/layout.ts';
import type { SnowflakeConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { snowflakeError } from './faults.ts';
import { temporaryName } from './load.ts';
import {
  checkTable,
  findColumns,
  receiptsStatement,
  rejectedStatement,
  tableStatement,
  textExpression,
  typeOf,
  whole_types,
} from './table.ts';

const page_characters = 4_000_000;
/** Snowflake advises against statements of more than 1 MB including their values. */
const text_bytes_max = 400_000;

/**
 * Opens Snowflake's dialect in a session. Statements that create a table run outside a transaction,
 * which they would end.
 */
export function snowflakeDialect(connection: Connection): Dialect {
  const { target } = connection;
  return {
    target,
    quoted,
    slot: () => '?',
    rows: (statement, values = []) => connection.rows(statement, values.map(String)),
    explained: snowflakeError,
    findColumns: (table) => findColumns(connection, table),
    createTable: async (layout) =>
      void (await connection.rows(tableStatement(target.quoted, layout))),
    checkTable: async (layout, found) => {
      await checkTable(connection, layout, found);
      return undefined;
    },
    typed: {
      typeOf,
      knows_if_not_exists: true,
      one_by_one: true,
      run: (statement) => connection.rows(statement),
      whole_types,
    },
    receipts: {
      create: async () => void (await connection.rows(receiptsStatement(target.receipts))),
      // The other rows are claims.
      condition: '"manifest" IS NOT NULL',
    },
    rejected: {
      quoted: target.rejected,
      create: async () => void (await connection.rows(rejectedStatement(target.rejected))),
    },
    text_bytes_max,
    textOf: textExpression,
    sealing: {
      hashOf: (columns) => `HASH(${columns.map(({ quoted: name }) => name).join(', ')})`,
      instant: (text) => `CAST('${text.slice(0, 26).replace('T', ' ')}' AS TIMESTAMP_NTZ(6))`,
      instants: /^TIMESTAMP_NTZ/,
    },
    openTexts: async (query, columns) => {
      const texts = quoted(temporaryName('texts'));
      await connection.rows(
        `CREATE TEMPORARY TABLE ${texts} AS ${pagesQuery(query, namesOf(columns))}`,
      );
      return () => pagesOf(connection, texts, namesOf(columns));
    },
    close: () => connection.close(),
  };
}

/** Opens a session with this dialect. */
export async function openSnowflake(
  config: SnowflakeConfig,
  deps: DestinationDeps,
): Promise<Dialect> {
  return snowflakeDialect(await connect(config, deps));
}

function namesOf(columns: number): string[] {
  return Array.from({ length: columns }, (_, index) => quoted(`c${index}`));
}

/** Returns the texts of a query, with the number of a page of about 4 MB. */
function pagesQuery(query: string, names: string[]): string {
  const size = names.map((name) => `COALESCE(LENGTH(CAST(${name} AS VARCHAR)), 0)`).join(' + ');
  return `SELECT ${names.join(', ')}, FLOOR(SUM(${size}) OVER (ORDER BY ${names[0]} ROWS BETWEEN
    UNBOUNDED PRECEDING AND CURRENT ROW) / ${page_characters}) AS "page" FROM (${query}) AS texts`;
}

async function* pagesOf(
  connection: Connection,
  table: string,
  names: string[],
): AsyncGenerator<ValueRow> {
  const pages = await connection.rows<{ page: string | number }>(
    `SELECT DISTINCT "page" FROM ${table} ORDER BY "page"`,
  );
  for (const { page } of pages) {
    const rows = await connection.rows<Record<string, string | null>>(
      `SELECT ${names.join(', ')} FROM ${table} WHERE "page" = ${Number(page)}`,
    );
    for (const row of rows) yield names.map((_, index) => row[`c${index}`] ?? null);
  }
}
