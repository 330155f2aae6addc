import type { Delivery, DestinationDeps } from '../../model/destination/destination.ts';
import { identifier } from '../formats/expression.ts';
import type { DeliveredTable, TableOfReceipts } from '../sql_tables/delivered_table.ts';
import { isMerged } from '../sql_tables/layout.ts';
import { targetOf } from './config.ts';
import type { ClickHouseConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { findReceipt } from './receipts.ts';
import { findTable } from './table.ts';

/** Opens the table, and that of the receipts, to be read again. */
export async function openClickHouseTable(
  config: ClickHouseConfig,
  deps: DestinationDeps,
): Promise<DeliveredTable> {
  const connection = await connect(config, deps);
  const target = targetOf(config);
  return {
    name: target.name,
    receipts: receiptsOf(connection),
    openRows: async (delivery) => {
      if ((await findTable(connection, target.table)) === undefined) return undefined;
      const query = textsQuery(target.quoted, delivery);
      return () => connection.stream(query);
    },
    close: () => connection.close(),
  };
}

function receiptsOf(connection: Connection): TableOfReceipts {
  const { receipts, name } = connection.target;
  const deliveries = `SELECT DISTINCT delivery_id FROM ${receipts} WHERE manifest != ''
    AND table_name = {name:String}`;
  return {
    name: receipts,
    isThere: async () => (await findTable(connection, 'sluice_receipts')) !== undefined,
    find: async (delivery_id) => (await findReceipt(connection, { delivery_id }))?.manifest,
    ofExport: (id) =>
      connection.rows(`${deliveries} AND batch_export_id = {id:UUID}`, { id, name }),
    ofAll: (limit) => connection.rows(`${deliveries} LIMIT ${limit}`, { name }),
  };
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
