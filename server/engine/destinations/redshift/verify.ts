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
import { connect } from '../../sql_tables/postgres_connection.ts';
import type { Connection } from '../../sql_tables/postgres_connection.ts';
import { accessOf, targetOf } from './config.ts';
import type { RedshiftConfig } from './config.ts';
import { withRedshiftErrors } from './faults.ts';
import { findReceipt, hasReceipts } from './receipts.ts';
import { columnTypes, varchar_bytes_max } from './table.ts';

const keys_per_statement = 5_000;
const batch_rows = 1_000;

/**
 * Compares receipts, then the keys of the source with those of the table: the keys go into a temporary table of the cluster, so neither side has to fit into our memory. A missing row, a row that is
 * there too often, and one that no delivery holds are named, up to 1,000 of a kind. Rows of a query that have no key are counted.
 */
export function verifyRedshift(
  config: RedshiftConfig,
  delivered: DeliveredSlices[],
  source: SourceKeys,
  deps: DestinationDeps,
): Promise<Difference[]> {
  return withRedshiftErrors(async () => {
    const connection = await connect(accessOf(config), deps);
    try {
      if (!(await hasReceipts(connection, config)))
        return [
          {
            kind: 'missing',
            name: targetOf(config).receipts,
            detail: 'The table of receipts is gone.',
          },
        ];
      const receipts = await receiptDifferences(delivered, (id) =>
        findReceipt(connection, config, id),
      );
      return [...receipts, ...(await compareRows(connection, config, delivered, source))];
    } finally {
      await connection.close();
    }
  });
}

async function compareRows(
  connection: Connection,
  config: RedshiftConfig,
  delivered: DeliveredSlices[],
  source: SourceKeys,
): Promise<Difference[]> {
  const [first] = delivered;
  if (first === undefined) return [];
  const target = targetOf(config);
  if ((await columnTypes(connection, target.schema, target.table)) === undefined)
    return [{ kind: 'missing', name: target.name, detail: 'The table is gone.' }];
  const is_shared = await hasOtherDeliveries(connection, config, delivered);
  const key = keyColumn(first.delivery);
  if (key === undefined) return is_shared ? [] : compareCounts(connection, config, delivered);
  await loadKeys(connection, delivered, source);
  const mergedTeamId = isMerged(first.delivery) ? first.delivery.team_id : undefined;
  await connection.rows('BEGIN');
  const differing = connection.batches<ComparedKey>(
    comparison(target.quoted, key, mergedTeamId),
    batch_rows,
  );
  const differences = await rowDifferences(flat(differing), { name: target.name, key, is_shared });
  await connection.rows('ROLLBACK');
  return differences;
}

async function* flat<Row>(batches: AsyncIterable<Row[]>): AsyncIterable<Row> {
  for await (const batch of batches) yield* batch;
}

/** Rows without a key can only be counted, and only where the table holds nothing but these deliveries. */
async function compareCounts(
  connection: Connection,
  config: RedshiftConfig,
  delivered: DeliveredSlices[],
): Promise<Difference[]> {
  const target = targetOf(config);
  const [row] = await connection.rows<{ records: string }>(
    `SELECT COUNT(*) AS records FROM ${target.quoted}`,
  );
  return countDifference(target.name, recordsOf(delivered), Number(row?.records ?? 0));
}

/** A merged row stands for all deliveries of its key; otherwise each delivery brought one. */
export function comparison(target: string, key: string, mergedTeamId: number | undefined): string {
  const expected = mergedTeamId === undefined ? 'COUNT(*)' : '1';
  const ofTeam = mergedTeamId === undefined ? '' : ` WHERE team_id = ${mergedTeamId}`;
  return `SELECT row_key AS ${quoted('key')}, CAST(SUM(expected) AS integer) AS expected, CAST(SUM(found) AS integer) AS found FROM (
      SELECT row_key, ${expected} AS expected, 0 AS found FROM sluice_keys GROUP BY row_key
      UNION ALL
      SELECT CAST(${quoted(key)} AS varchar(${varchar_bytes_max})) AS row_key, 0 AS expected, COUNT(*) AS found FROM ${target}${ofTeam} GROUP BY 1
    ) AS compared GROUP BY row_key HAVING SUM(expected) <> SUM(found)`;
}

async function loadKeys(
  connection: Connection,
  delivered: DeliveredSlices[],
  source: SourceKeys,
): Promise<void> {
  await connection.rows(
    `CREATE TEMPORARY TABLE sluice_keys (row_key varchar(${varchar_bytes_max}))`,
  );
  let keys: string[] = [];
  const flush = async () => {
    if (keys.length > 0)
      await connection.rows(
        `INSERT INTO sluice_keys (row_key) VALUES ${keys.map((_, index) => `($${index + 1})`).join(', ')}`,
        keys,
      );
    keys = [];
  };
  for (const { delivery } of delivered) {
    for await (const key of source(delivery.delivery_id)) {
      // Cured like the rows themselves.
      keys.push(key.toWellFormed().replaceAll('\0', ''));
      if (keys.length === keys_per_statement) await flush();
    }
  }
  await flush();
}

async function hasOtherDeliveries(
  connection: Connection,
  config: RedshiftConfig,
  delivered: DeliveredSlices[],
): Promise<boolean> {
  const target = targetOf(config);
  const rows = await connection.rows<{ delivery_id: string }>(
    `SELECT DISTINCT delivery_id FROM ${target.receipts} WHERE table_name = $1 LIMIT ${delivered.length + 1}`,
    [target.name],
  );
  const known = new Set(delivered.map(({ delivery }) => delivery.delivery_id));
  return rows.some((row) => !known.has(row.delivery_id));
}
