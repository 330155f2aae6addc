import type { ValueRow } from '../../model/destination/content_source.ts';
import type { Delivery, DestinationDeps } from '../../model/destination/destination.ts';
import type { DeliveredTable, TableOfReceipts } from '../sql_tables/delivered_table.ts';
import { isMerged } from '../sql_tables/layout.ts';
import { findNarrowed } from './columns.ts';
import { quoted, targetOf } from './config.ts';
import type { MySqlConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { rejectedName } from '../sql_tables/target.ts';
import { listRejected } from './rejected.ts';
import { tableExists } from './table.ts';

/** Opens the table, and that of the receipts, to be read again. */
export async function openMySqlTable(
  config: MySqlConfig,
  deps: DestinationDeps,
): Promise<DeliveredTable> {
  const connection = await connect(config, deps);
  const target = targetOf(config);
  return {
    name: target.name,
    receipts: receiptsOf(connection),
    rejected: {
      name: `${config.database}.${rejectedName(target.table)}`,
      list: (id) => listRejected(connection, id),
    },
    openRows: async (delivery) => {
      if (!(await tableExists(connection, target.table))) return undefined;
      return () => rowsOf(connection, textsQuery(target.quoted, delivery));
    },
    narrowed: ({ columns }) => findNarrowed(connection, columns),
    close: () => connection.close(),
  };
}

function receiptsOf(connection: Connection): TableOfReceipts {
  const { receipts, name } = connection.target;
  const deliveries = `SELECT delivery_id FROM ${receipts} WHERE table_name = ?`;
  return {
    name: receipts,
    isThere: () => tableExists(connection, 'sluice_receipts'),
    find: async (id) => {
      const [row] = await connection.rows<{ manifest: string }>(
        `SELECT manifest FROM ${receipts} WHERE delivery_id = ?`,
        [id],
      );
      return row?.manifest;
    },
    ofExport: (id) => connection.rows(`${deliveries} AND batch_export_id = ?`, [name, id]),
    ofAll: (limit) => connection.rows(`${deliveries} LIMIT ${limit}`, [name]),
  };
}

function textsQuery(target: string, delivery: Delivery): string {
  const texts = delivery.columns.map(
    ({ name }, index) => `CAST(${quoted(name)} AS CHAR CHARACTER SET utf8mb4) AS c${index}`,
  );
  const ofTeam = isMerged(delivery) ? ` WHERE team_id = ${delivery.team_id}` : '';
  return `SELECT ${texts.join(', ')} FROM ${target}${ofTeam}`;
}

async function* rowsOf(connection: Connection, statement: string): AsyncGenerator<ValueRow> {
  for await (const row of connection.stream<Record<string, string | null>>(statement))
    yield Object.values(row);
}
