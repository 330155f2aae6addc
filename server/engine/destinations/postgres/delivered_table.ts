import { Readable } from 'node:stream';
import type { ValueRow } from '../../model/destination/content_source.ts';
import type { Delivery, DestinationDeps } from '../../model/destination/destination.ts';
import type { DeliveredTable, TableOfReceipts } from '../sql_tables/delivered_table.ts';
import { isMerged, columnList } from '../sql_tables/layout.ts';
import { connect } from '../sql_tables/postgres_connection.ts';
import type { Connection } from '../sql_tables/postgres_connection.ts';
import { rowsOf } from '../sql_tables/tab_separated.ts';
import { accessOf, targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { rejectedName } from '../sql_tables/target.ts';
import { listRejected } from './rejected.ts';
import { findNarrowed, tableExists } from './table.ts';
import { beginTransaction } from './transaction.ts';

/** Opens the table, and that of the receipts, to be read again. */
export async function openPostgresTable(
  config: PostgresConfig,
  deps: DestinationDeps,
): Promise<DeliveredTable> {
  const connection = await connect(accessOf(config), deps);
  const target = targetOf(config);
  return {
    name: target.name,
    receipts: receiptsOf(connection, config),
    rejected: {
      name: `${target.schema}.${rejectedName(target.table)}`,
      list: (id) => listRejected(connection, config, id),
    },
    openRows: async (delivery) => {
      if (!(await tableExists(connection, target.quoted))) return undefined;
      const statement = copyStatement(target.quoted, delivery);
      return () => copiedRows(connection, statement);
    },
    narrowed: ({ columns }) => findNarrowed(connection, target, columns),
    close: () => connection.close(),
  };
}

function receiptsOf(connection: Connection, config: PostgresConfig): TableOfReceipts {
  const { receipts, name } = targetOf(config);
  const deliveries = `SELECT delivery_id FROM ${receipts} WHERE table_name = $1`;
  return {
    name: receipts,
    isThere: () => tableExists(connection, receipts),
    find: async (id) => {
      const [row] = await connection.rows<{ manifest: string }>(
        `SELECT manifest FROM ${receipts} WHERE delivery_id = $1`,
        [id],
      );
      return row?.manifest;
    },
    ofExport: (id) => connection.rows(`${deliveries} AND batch_export_id = $2`, [name, id]),
    ofAll: (limit) => connection.rows(`${deliveries} LIMIT ${limit}`, [name]),
  };
}

/** Within a transaction, because of the settings of a session a pooler may keep none. */
async function* copiedRows(connection: Connection, statement: string): AsyncGenerator<ValueRow> {
  await beginTransaction(connection);
  yield* rowsOf(Readable.from(connection.copyOut(statement)));
  await connection.end('COMMIT');
}

function copyStatement(target: string, delivery: Delivery): string {
  const list = columnList(delivery.columns);
  const ofTeam = isMerged(delivery) ? ` WHERE team_id = ${delivery.team_id}` : '';
  return `COPY (SELECT ${list} FROM ${target}${ofTeam}) TO STDOUT WITH (FORMAT text, ENCODING
    'UTF8')`;
}
