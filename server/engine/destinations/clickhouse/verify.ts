import type {
  DeliveredSlices,
  Delivery,
  DestinationDeps,
  Difference,
} from '../../destination/destination.ts';
import type { ContentSource } from '../../destination/content_source.ts';
import { identifier } from '../../formats/expression.ts';
import { compareContents } from '../../sql_tables/compare_contents.ts';
import { targetOf } from './config.ts';
import type { ClickHouseConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { withClickHouseErrors } from './faults.ts';
import { findReceipt } from './receipts.ts';
import { findTable, isMerged } from './table.ts';

/** Compares receipts, then all rows of the table with those of the source, value by value. */
export function verifyClickHouse(
  config: ClickHouseConfig,
  delivered: DeliveredSlices[],
  source: ContentSource,
  deps: DestinationDeps,
): Promise<Difference[]> {
  return withClickHouseErrors(async () => {
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
  config: ClickHouseConfig,
  delivered: DeliveredSlices[],
): Promise<Difference[]> {
  const target = targetOf(config);
  if ((await findTable(connection, config, 'sluice_receipts')) === undefined)
    return [{ kind: 'missing', name: target.receipts, detail: 'The table of receipts is gone.' }];
  const differences: Difference[] = [];
  for (const { delivery, manifest } of delivered) {
    const name = `receipt ${delivery.delivery_id}`;
    const receipt = await findReceipt(connection, config, delivery);
    if (receipt === undefined)
      differences.push({ kind: 'missing', name, detail: 'The receipt of this delivery is gone.' });
    else if (receipt.manifest !== manifest)
      differences.push({
        kind: 'changed',
        name,
        detail: 'Its text is not that of the receipt kept here.',
      });
  }
  return differences;
}

async function compareRows(
  connection: Connection,
  config: ClickHouseConfig,
  delivered: DeliveredSlices[],
  source: ContentSource,
): Promise<Difference[]> {
  const [first] = delivered;
  if (first === undefined) return [];
  const target = targetOf(config);
  if ((await findTable(connection, config, target.table)) === undefined)
    return [{ kind: 'missing', name: target.name, detail: 'The table is gone.' }];
  const query = textsQuery(target.quoted, first.delivery);
  return compareContents(
    {
      name: target.name,
      is_shared: await hasOtherDeliveries(connection, config, delivered),
      rows: () => connection.stream(query),
    },
    delivered,
    source,
  );
}

/**
 * Every value of the rows that a delivery can have brought as text; of merged rows those that FINAL
 * shows.
 */
function textsQuery(target: string, { columns, team_id, model }: Delivery): string {
  const texts = columns.map(({ name, type }) =>
    type === 'timestamp'
      ? `toString(toTimeZone(${identifier(name)}, 'UTC'))`
      : `toString(${identifier(name)})`,
  );
  const from = isMerged({ model, columns }) ? `${target} FINAL WHERE team_id = ${team_id}` : target;
  return `SELECT ${texts.map((text, index) => `${text} AS c${index}`).join(', ')} FROM ${from}`;
}

async function hasOtherDeliveries(
  connection: Connection,
  config: ClickHouseConfig,
  delivered: DeliveredSlices[],
): Promise<boolean> {
  const target = targetOf(config);
  const rows = await connection.rows<{ delivery_id: string }>(
    `SELECT DISTINCT delivery_id FROM ${target.receipts} WHERE table_name = {name:String}
      AND manifest != '' LIMIT ${delivered.length + 1}`,
    { name: target.name },
  );
  const known = new Set(delivered.map(({ delivery }) => delivery.delivery_id));
  return rows.some((row) => !known.has(row.delivery_id));
}
