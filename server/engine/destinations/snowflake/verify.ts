import { Readable } from 'node:stream';
import { countDifference, recordsOf } from '../../destination/destination.ts';
import type {
  DeliveredSlices,
  DestinationDeps,
  Difference,
  SourceKeys,
} from '../../destination/destination.ts';
import { receiptDifferences, rowDifferences } from '../../sql_tables/differences.ts';
import type { ComparedKey } from '../../sql_tables/differences.ts';
import { isMerged, keyColumn, quoted } from '../../sql_tables/layout.ts';
import { targetOf } from './config.ts';
import type { SnowflakeConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { withSnowflakeErrors } from './faults.ts';
import { openLoader, temporaryName, textColumn } from './load.ts';
import { findReceipt, hasReceipts } from './receipts.ts';
import { findTableKind } from './table.ts';

const keys_per_page = 5_000;

/**
 * Compares receipts, then the keys of the source with those of the table: the keys go into a temporary table of the account, so neither side has to fit into our memory. A
 * missing row, a row that is there too often, and one that no delivery holds are named, up to 1,000 of a kind. Rows of a query that have no key are counted.
 */
export function verifySnowflake(
  config: SnowflakeConfig,
  delivered: DeliveredSlices[],
  source: SourceKeys,
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
  source: SourceKeys,
): Promise<Difference[]> {
  const [first] = delivered;
  if (first === undefined) return [];
  const target = targetOf(config);
  const key = keyColumn(first.delivery);
  if ((await findTableKind(connection, config, target.table)) === undefined)
    return [{ kind: 'missing', name: target.name, detail: 'The table is gone.' }];
  const is_shared = await hasOtherDeliveries(connection, config, delivered);
  if (key === undefined) return is_shared ? [] : compareCounts(connection, config, delivered);
  const loader = await openLoader(connection);
  await loader.load(
    [{ name: key, type: 'text', nullable: false, expression: key }],
    Readable.from(linesOf(delivered, source)),
  );
  const table = quoted(temporaryName('differences'));
  const mergedTeamId = isMerged(first.delivery) ? first.delivery.team_id : undefined;
  await connection.rows(
    `CREATE TEMPORARY TABLE ${table} AS ${comparison(config, loader.table, key, mergedTeamId)}`,
  );
  return rowDifferences(pagesOf(connection, table), { name: target.name, key, is_shared });
}

/** Rows without a key can only be counted, and only where the table holds nothing but these deliveries. */
async function compareCounts(
  connection: Connection,
  config: SnowflakeConfig,
  delivered: DeliveredSlices[],
): Promise<Difference[]> {
  const target = targetOf(config);
  const [row] = await connection.rows<{ records: number }>(
    `SELECT COUNT(*) AS "records" FROM ${target.quoted}`,
  );
  return countDifference(target.name, recordsOf(delivered), row?.records ?? 0);
}

/** The keys that differ, numbered from 1. A merged row stands for all deliveries of its key. */
function comparison(
  config: SnowflakeConfig,
  keys: string,
  key: string,
  mergedTeamId: number | undefined,
): string {
  const expected = mergedTeamId === undefined ? 'COUNT(*)' : '1';
  const ofTeam = mergedTeamId === undefined ? '' : ` WHERE "team_id" = ${mergedTeamId}`;
  const there = `CAST(${quoted(key)} AS VARCHAR)`;
  return `SELECT ROW_NUMBER() OVER (ORDER BY "key") AS "number", "key", SUM("expected") AS "expected", SUM("found") AS "found" FROM (
      SELECT ${textColumn(0)} AS "key", ${expected} AS "expected", 0 AS "found" FROM ${keys} GROUP BY ${textColumn(0)}
      UNION ALL
      SELECT ${there}, 0, COUNT(*) FROM ${targetOf(config).quoted}${ofTeam} GROUP BY ${there}
    ) AS compared GROUP BY "key" HAVING SUM("expected") <> SUM("found")`;
}

async function* pagesOf(connection: Connection, table: string): AsyncGenerator<ComparedKey> {
  for (let from = 0, hasMore = true; hasMore; from += keys_per_page) {
    const page = await connection.rows<Record<keyof ComparedKey, string | number | null>>(
      `SELECT "key", "expected", "found" FROM ${table} WHERE "number" > ${from} AND "number" <= ${from + keys_per_page} ORDER BY "number"`,
    );
    for (const { key, expected, found } of page)
      yield { key: String(key), expected: Number(expected), found: Number(found) };
    hasMore = page.length === keys_per_page;
  }
}

/** Keys as lines of tab-separated text, cured like the rows themselves. */
async function* linesOf(delivered: DeliveredSlices[], source: SourceKeys): AsyncGenerator<Buffer> {
  const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n' };
  let lines = '';
  for (const { delivery } of delivered) {
    for await (const key of source(delivery.delivery_id)) {
      const text = key.toWellFormed().replaceAll('\0', '');
      lines += `${text.replaceAll(/[\\\t\n]/g, (character) => escapes[character] ?? character)}\n`;
      if (lines.length < 64 * 1024) continue;
      yield Buffer.from(lines);
      lines = '';
    }
  }
  yield Buffer.from(lines);
}

async function hasOtherDeliveries(
  connection: Connection,
  config: SnowflakeConfig,
  delivered: DeliveredSlices[],
): Promise<boolean> {
  const target = targetOf(config);
  const rows = await connection.rows<{ delivery_id: string }>(
    `SELECT "delivery_id" FROM ${target.receipts} WHERE "table_name" = ? AND "manifest" IS NOT NULL LIMIT ${delivered.length + 1}`,
    [target.name],
  );
  const known = new Set(delivered.map(({ delivery }) => delivery.delivery_id));
  return rows.some((row) => !known.has(row.delivery_id));
}
