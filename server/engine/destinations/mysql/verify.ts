import { countDifference, recordsOf } from '../../destination/destination.ts';
import type {
  DeliveredSlices,
  DestinationDeps,
  Difference,
  SourceKeys,
} from '../../destination/destination.ts';
import { receiptDifferences, rowDifferences } from '../../sql_tables/differences.ts';
import type { ComparedKey } from '../../sql_tables/differences.ts';
import { isMerged, keyColumn } from '../../sql_tables/layout.ts';
import { quoted, targetOf } from './config.ts';
import type { MySqlConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { withMySqlErrors } from './faults.ts';
import { tableExists } from './table.ts';

const keys_per_statement = 1_000;

/**
 * Compares receipts, then the keys of the source with those of the table: the keys go into a temporary table of the server, so neither side has to fit into our
 * memory. A missing row, a row that is there too often, and one that no delivery holds are named, up to 1,000 of a kind. Rows of a query that have no key are counted.
 */
export function verifyMySql(
  config: MySqlConfig,
  delivered: DeliveredSlices[],
  source: SourceKeys,
  deps: DestinationDeps,
): Promise<Difference[]> {
  return withMySqlErrors(async () => {
    const connection = await connect(config, deps);
    try {
      const differences = await compareReceipts(connection, config, delivered);
      differences.push(...(await compareRows(connection, config, delivered, source)));
      return differences;
    } finally {
      await connection.close();
    }
  });
}

async function compareReceipts(
  connection: Connection,
  config: MySqlConfig,
  delivered: DeliveredSlices[],
): Promise<Difference[]> {
  const target = targetOf(config);
  if (!(await tableExists(connection, config, 'sluice_receipts')))
    return [{ kind: 'missing', name: target.receipts, detail: 'The table of receipts is gone.' }];
  return receiptDifferences(delivered, async (id) => {
    const [row] = await connection.rows<{ manifest: string }>(
      `SELECT manifest FROM ${target.receipts} WHERE delivery_id = ?`,
      [id],
    );
    return row?.manifest;
  });
}

async function compareRows(
  connection: Connection,
  config: MySqlConfig,
  delivered: DeliveredSlices[],
  source: SourceKeys,
): Promise<Difference[]> {
  const [first] = delivered;
  const key = first && keyColumn(first.delivery);
  if (first === undefined) return [];
  const target = targetOf(config);
  if (!(await tableExists(connection, config, target.table)))
    return [{ kind: 'missing', name: target.name, detail: 'The table is gone.' }];
  if (key === undefined) return compareCounts(connection, config, delivered);
  await loadKeys(connection, config, delivered, source);
  const isShared = await hasOtherDeliveries(connection, config, delivered);
  const mergedTeamId = isMerged(first.delivery) ? first.delivery.team_id : undefined;
  return rowDifferences(connection.stream<ComparedKey>(comparison(config, key, mergedTeamId)), {
    name: target.name,
    key,
    is_shared: isShared,
  });
}

/** Rows without a key can only be counted, and only where the table holds nothing but these deliveries. */
async function compareCounts(
  connection: Connection,
  config: MySqlConfig,
  delivered: DeliveredSlices[],
): Promise<Difference[]> {
  const target = targetOf(config);
  if (await hasOtherDeliveries(connection, config, delivered)) return [];
  const [row] = await connection.rows<{ records: number }>(
    `SELECT COUNT(*) AS records FROM ${target.quoted}`,
  );
  return countDifference(target.name, recordsOf(delivered), row?.records ?? 0);
}

/** Keys are compared byte by byte, by their hash, because MySQL compares long texts only by their beginning; a merged row stands for all deliveries of its key. */
function comparison(config: MySqlConfig, key: string, mergedTeamId: number | undefined): string {
  const keys = `${quoted(config.database)}.sluice_keys`;
  const expected = mergedTeamId === undefined ? 'COUNT(*)' : '1';
  const ofTeam = mergedTeamId === undefined ? '' : ` WHERE team_id = ${mergedTeamId}`;
  return `SELECT MIN(key_text) AS ${quoted('key')}, CAST(SUM(expected) AS SIGNED) AS expected, CAST(SUM(found) AS SIGNED) AS found FROM (
      SELECT key_hash, MIN(key_text) AS key_text, ${expected} AS expected, 0 AS found FROM ${keys} GROUP BY key_hash
      UNION ALL
      SELECT UNHEX(SHA2(CONVERT(${quoted(key)} USING utf8mb4), 256)), MIN(CONVERT(${quoted(key)} USING utf8mb4)), 0, COUNT(*) FROM ${targetOf(config).quoted}${ofTeam} GROUP BY 1
    ) AS compared GROUP BY key_hash HAVING SUM(expected) <> SUM(found)`;
}

async function loadKeys(
  connection: Connection,
  config: MySqlConfig,
  delivered: DeliveredSlices[],
  source: SourceKeys,
): Promise<void> {
  const table = `${quoted(config.database)}.sluice_keys`;
  await connection.run(
    `CREATE TEMPORARY TABLE ${table} (key_hash binary(32) NOT NULL, key_text longtext) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
  );
  let rows: string[] = [];
  const flush = async () => {
    if (rows.length > 0)
      await connection.run(`INSERT INTO ${table} (key_hash, key_text) VALUES ${rows.join(',')}`);
    rows = [];
  };
  for (const { delivery } of delivered) {
    for await (const key of source(delivery.delivery_id)) {
      // Cured like the rows themselves.
      const text = connection.escape(key.toWellFormed().replaceAll('\0', ''));
      rows.push(`(UNHEX(SHA2(${text}, 256)),${text})`);
      if (rows.length === keys_per_statement) await flush();
    }
  }
  await flush();
}

async function hasOtherDeliveries(
  connection: Connection,
  config: MySqlConfig,
  delivered: DeliveredSlices[],
): Promise<boolean> {
  const target = targetOf(config);
  const rows = await connection.rows<{ delivery_id: string }>(
    `SELECT delivery_id FROM ${target.receipts} WHERE table_name = ? LIMIT ${delivered.length + 1}`,
    [target.name],
  );
  const known = new Set(delivered.map(({ delivery }) => delivery.delivery_id));
  return rows.some((row) => !known.has(row.delivery_id));
}
