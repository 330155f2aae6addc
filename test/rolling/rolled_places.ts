import mysql from 'mysql2';
import { places } from '../chaos/delivered.ts';
import type { DeliveredRows } from '../chaos/delivered.ts';
import type { Keep, Site } from '../chaos/deployment.ts';
import { rowDigest } from '../chaos/row_digest.ts';
import type { EventRow } from '../chaos/row_digest.ts';
import { openClickHouseProxy } from '../servers/databases/clickhouse_proxy.ts';
import { openMariaDb } from '../servers/databases/mariadb_server.ts';

/** A destination while processes are replaced: the rows sent to it, and the rows there. */
export type RolledPlace = {
  type: string;
  config: Record<string, unknown>;
  read(): Promise<DeliveredRows>;
};

type Row = EventRow & { uuid: string };

/** One of each kind of destination that runs on this machine as elsewhere. */
export async function openRolledPlaces(site: Site, keep: Keep): Promise<RolledPlace[]> {
  return [
    ...['File', 'S3', 'Postgres'].map((type) => ({
      type,
      config: places[type]!.config(site),
      read: () => places[type]!.read(site),
    })),
    await openMySql(keep),
    await openClickHouse(site, keep),
  ];
}

async function openMySql(keep: Keep): Promise<RolledPlace> {
  const server = keep(await openMariaDb(), (open) => open.close());
  const admin = await server.admin();
  await admin.query('CREATE DATABASE warehouse');
  await admin.end();
  const { port, user, password } = server;
  const config = { host: '127.0.0.1', port, user, password, database: 'warehouse' };
  return {
    type: 'MySQL',
    config: { ...config, table_name: 'rolled', has_self_signed_cert: true },
    read: async () => {
      const connection = mysql.createConnection({ ...config, dateStrings: true });
      const found = gather();
      const statement = 'SELECT uuid, event, distinct_id, timestamp, properties FROM rolled';
      for await (const row of connection.query(statement).stream()) found.add(row as Row);
      await connection.promise().end();
      return found.rows;
    },
  };
}

async function openClickHouse({ clickhouse, environment }: Site, keep: Keep): Promise<RolledPlace> {
  const address = new URL(environment['SLUICE_CLICKHOUSE_URL']!);
  // It accepts compressed bodies, as a real server does.
  const door = keep(await openClickHouseProxy(address.origin, { tls: false }), (open) =>
    open.close(),
  );
  await clickhouse.command({ query: 'CREATE DATABASE IF NOT EXISTS warehouse' });
  const { username, password } = address;
  return {
    type: 'ClickHouse',
    config: {
      url: door.url,
      database: 'warehouse',
      table_name: 'rolled',
      ...(username === '' ? {} : { user: username, password: decodeURIComponent(password) }),
    },
    read: async () => {
      const found = gather();
      const result = await clickhouse.query({
        query: `SELECT toString(uuid) AS uuid, event, distinct_id, toString(timestamp) AS timestamp,
          properties FROM warehouse.rolled`,
        format: 'JSONEachRow',
      });
      for await (const rows of result.stream<Row>()) for (const row of rows) found.add(row.json());
      return found.rows;
    },
  };
}

function gather() {
  const rows: DeliveredRows = new Map();
  return {
    rows,
    add: (row: Row) => {
      rows.set(row.uuid, [...(rows.get(row.uuid) ?? []), rowDigest(row)]);
    },
  };
}
