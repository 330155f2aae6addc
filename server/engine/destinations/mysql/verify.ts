import type {
  DeliveredSlices,
  DestinationDeps,
  Difference,
} from '../../destination/destination.ts';
import type { ContentSource, ValueRow } from '../../destination/content_source.ts';
import { compareContents } from '../../sql_tables/compare_contents.ts';
import { receiptDifferences } from '../../sql_tables/differences.ts';
import { isMerged } from '../../sql_tables/layout.ts';
import { quoted, targetOf } from './config.ts';
import type { MySqlConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { withMySqlErrors } from './faults.ts';
import { tableExists } from './table.ts';

/** Compares receipts, then all rows of the table with those of the source, value by value. */
export function verifyMySql(
  config: MySqlConfig,
  delivered: DeliveredSlices[],
  source: ContentSource,
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
  source: ContentSource,
): Promise<Difference[]> {
  const [first] = delivered;
  if (first === undefined) return [];
  const target = targetOf(config);
  if (!(await tableExists(connection, config, target.table)))
    return [{ kind: 'missing', name: target.name, detail: 'The table is gone.' }];
  const { delivery } = first;
  const texts = delivery.columns.map(
    ({ name }, index) => `CAST(${quoted(name)} AS CHAR CHARACTER SET utf8mb4) AS c${index}`,
  );
  const ofTeam = isMerged(delivery) ? ` WHERE team_id = ${delivery.team_id}` : '';
  const statement = `SELECT ${texts.join(', ')} FROM ${target.quoted}${ofTeam}`;
  return compareContents(
    {
      name: target.name,
      is_shared: await hasOtherDeliveries(connection, config, delivered),
      rows: () => rowsOf(connection, statement),
    },
    delivered,
    source,
  );
}

async function* rowsOf(connection: Connection, statement: string): AsyncGenerator<ValueRow> {
  for await (const row of connection.stream<Record<string, string | null>>(statement))
    yield Object.values(row);
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
