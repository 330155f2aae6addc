import type { ValueRow } from '../../model/destination/content_source.ts';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import type { DeliveredTable, TableOfReceipts } from '../sql_tables/delivered_table.ts';
import { isMerged, quoted } from '../sql_tables/layout.ts';
import type { Layout } from '../sql_tables/layout.ts';
import { targetOf } from './config.ts';
import type { SnowflakeConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { temporaryName } from './load.ts';
import { findReceipt, hasReceipts } from './receipts.ts';
import { columnTypes, findTableKind, textExpression } from './table.ts';
import type { TableColumns } from './table.ts';

const page_characters = 4_000_000;

/**
 * Opens the table, and that of the receipts, to be read again. The texts of the rows go into a
 * temporary table of the account, to be read page by page.
 */
export async function openSnowflakeTable(
  config: SnowflakeConfig,
  deps: DestinationDeps,
): Promise<DeliveredTable> {
  const connection = await connect(config, deps);
  const target = targetOf(config);
  return {
    name: target.name,
    receipts: receiptsOf(connection),
    openRows: async (delivery) => {
      if ((await findTableKind(connection, target.table)) === undefined) return undefined;
      const types = await columnTypes(connection, target.table);
      const texts = quoted(temporaryName('texts'));
      await connection.rows(
        `CREATE TEMPORARY TABLE ${texts} AS ${textsQuery(target.quoted, delivery, types)}`,
      );
      return () => pagesOf(connection, texts, delivery.columns.length);
    },
    close: () => connection.close(),
  };
}

function receiptsOf(connection: Connection): TableOfReceipts {
  const { receipts, name } = connection.target;
  const deliveries = `SELECT "delivery_id" FROM ${receipts} WHERE "table_name" = ?
    AND "manifest" IS NOT NULL`;
  return {
    name: receipts,
    isThere: () => hasReceipts(connection),
    find: (id) => findReceipt(connection, id),
    ofExport: (id) => connection.rows(`${deliveries} AND "batch_export_id" = ?`, [name, id]),
    ofAll: (limit) => connection.rows(`${deliveries} LIMIT ${limit}`, [name]),
  };
}

/**
 * Every value of the rows that a delivery can have brought as text: `c0`, `c1` and so on in the
 * order of its columns, with the number of a page of about 4 MB.
 */
function textsQuery(
  target: string,
  layout: Layout & { team_id: number },
  types: TableColumns,
): string {
  const names = layout.columns.map((_, index) => quoted(`c${index}`));
  const texts = layout.columns.map(
    (column, index) =>
      `${textExpression(column, `t.${quoted(column.name)}`, types)} AS ${names[index]}`,
  );
  const ofTeam = isMerged(layout) ? ` WHERE t."team_id" = ${layout.team_id}` : '';
  const size = names.map((name) => `COALESCE(LENGTH(CAST(${name} AS VARCHAR)), 0)`).join(' + ');
  return `SELECT ${names.join(', ')}, FLOOR(SUM(${size}) OVER (ORDER BY ${names[0]} ROWS BETWEEN
    UNBOUNDED PRECEDING AND CURRENT ROW) / ${page_characters}) AS "page"
    FROM (SELECT ${texts.join(', ')} FROM ${target} AS t${ofTeam}) AS texts`;
}

async function* pagesOf(
  connection: Connection,
  table: string,
  columns: number,
): AsyncGenerator<ValueRow> {
  const names = Array.from({ length: columns }, (_, index) => `c${index}`);
  const pages = await connection.rows<{ page: string | number }>(
    `SELECT DISTINCT "page" FROM ${table} ORDER BY "page"`,
  );
  for (const { page } of pages) {
    const rows = await connection.rows<Record<string, string | null>>(
      `SELECT ${names.map(quoted).join(', ')} FROM ${table} WHERE "page" = ${Number(page)}`,
    );
    for (const row of rows) yield names.map((name) => row[name] ?? null);
  }
}
