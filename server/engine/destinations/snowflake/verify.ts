import type {
  DeliveredSlices,
  DestinationDeps,
  Difference,
} from '../../destination/destination.ts';
import type { ContentSource, ValueRow } from '../../destination/content_source.ts';
import { compareContents } from '../../sql_tables/compare_contents.ts';
import { receiptDifferences } from '../../sql_tables/differences.ts';
import { isMerged, quoted } from '../../sql_tables/layout.ts';
import type { Layout } from '../../sql_tables/layout.ts';
import { targetOf } from './config.ts';
import type { SnowflakeConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { withSnowflakeErrors } from './faults.ts';
import { temporaryName } from './load.ts';
import { findReceipt, hasReceipts } from './receipts.ts';
import { columnTypes, findTableKind, textExpression } from './table.ts';
import type { TableColumns } from './table.ts';

const page_characters = 4_000_000;

/**
 * Compares receipts, then all rows of the table with those of the source, value by value. The texts
 * of the rows go into a temporary table of the account, to be read page by page.
 */
export function verifySnowflake(
  config: SnowflakeConfig,
  delivered: DeliveredSlices[],
  source: ContentSource,
  deps: DestinationDeps,
): Promise<Difference[]> {
  return withSnowflakeErrors(async () => {
    const connection = await connect(config, deps);
    try {
      if (!(await hasReceipts(connection, config)))
        return [
          {
            kind: 'missing',
            name: targetOf(config).receipts,
            detail: 'The table of receipts is gone.',
          },
        ];
      const differences = await receiptDifferences(delivered, (id) =>
        findReceipt(connection, config, id),
      );
      return [...differences, ...(await compareRows(connection, config, delivered, source))];
    } finally {
      await connection.close();
    }
  });
}

async function compareRows(
  connection: Connection,
  config: SnowflakeConfig,
  delivered: DeliveredSlices[],
  source: ContentSource,
): Promise<Difference[]> {
  const [first] = delivered;
  if (first === undefined) return [];
  const target = targetOf(config);
  if ((await findTableKind(connection, config, target.table)) === undefined)
    return [{ kind: 'missing', name: target.name, detail: 'The table is gone.' }];
  const { delivery } = first;
  const types = await columnTypes(connection, config, target.table);
  const is_shared = await hasOtherDeliveries(connection, config, delivered);
  const table = quoted(temporaryName('texts'));
  await connection.rows(
    `CREATE TEMPORARY TABLE ${table} AS ${textsQuery(target.quoted, delivery, types)}`,
  );
  const { columns } = delivery;
  const rows = () => pagesOf(connection, table, columns.length);
  return compareContents({ name: target.name, is_shared, rows }, delivered, source);
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

async function hasOtherDeliveries(
  connection: Connection,
  config: SnowflakeConfig,
  delivered: DeliveredSlices[],
): Promise<boolean> {
  const target = targetOf(config);
  const rows = await connection.rows<{ delivery_id: string }>(
    `SELECT "delivery_id" FROM ${target.receipts} WHERE "table_name" = ? AND "manifest" IS NOT NULL
      LIMIT ${delivered.length + 1}`,
    [target.name],
  );
  const known = new Set(delivered.map(({ delivery }) => delivery.delivery_id));
  return rows.some((row) => !known.has(row.delivery_id));
}
