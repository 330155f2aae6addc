import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createClient } from '@clickhouse/client';
import { reachClickHouse } from '../../server/engine/destinations/clickhouse/dialect.ts';
import { identifier } from '../../server/engine/destinations/formats/expression.ts';
import { readFileRows } from '../../server/engine/destinations/formats/read_file.ts';
import { openMySql } from '../../server/engine/destinations/mysql/dialect.ts';
import { openPostgres } from '../../server/engine/destinations/postgres/dialect.ts';
import type { Dialect } from '../../server/engine/destinations/sql_tables/dialect.ts';
import { textsQuery } from '../../server/engine/destinations/sql_tables/prepare.ts';
import type { ValueRow } from '../../server/engine/model/destination/content_source.ts';
import type { FileFormat } from '../../server/engine/model/destination/encoding.ts';
import type { Column } from '../../server/engine/model/models/column.ts';
import type { QueryHarness } from '../factories/batch_exports/query_exports.ts';
import { openClickHouseProxy } from '../servers/databases/clickhouse_proxy.ts';
import { mariaDbMissing, openMariaDb } from '../servers/databases/mariadb_server.ts';
import { openMySqlProxy } from '../servers/databases/mysql_proxy.ts';
import { openPostgresServer } from '../servers/databases/postgres_destination.ts';

/** A place of typed exports, and the function that reads its rows. */
export type TypedPlace = {
  name: string;
  destination: { type: string; config: Record<string, unknown> };
  read(columns: Column[]): Promise<ValueRow[]>;
  close(): Promise<void>;
};

/** Opens a folder of files of a format. */
export function filePlace(format: FileFormat) {
  return async ({ folder }: QueryHarness): Promise<TypedPlace> => {
    const prefix = `typed_${format}`;
    const encoding = { format, compression: format === 'Parquet' ? 'zstd' : null } as const;
    return {
      name: format,
      destination: {
        type: 'File',
        config: { prefix, file_format: format, compression: encoding.compression },
      },
      read: async (columns) => {
        const names = (await readdir(join(folder, prefix), { recursive: true })).filter((name) =>
          /\.(?:parquet|avro|jsonl|csv)$/.test(name),
        );
        const rows: ValueRow[] = [];
        for (const name of names) {
          const bytes = await readFile(join(folder, prefix, name));
          rows.push(...(await rowsOfFile(bytes, encoding, columns)));
        }
        return rows;
      },
      close: async () => undefined,
    };
  };
}

async function rowsOfFile(
  bytes: Buffer,
  encoding: Parameters<typeof readFileRows>[1],
  columns: Column[],
): Promise<ValueRow[]> {
  if (encoding.format !== 'CSV')
    return Array.fromAsync(readFileRows(Readable.from([bytes]), encoding, columns));
  // CSV is read by position, because its first line has the names of the columns.
  const names = bytes.subarray(0, bytes.indexOf('\n')).toString().replaceAll('"', '').split(',');
  const places = columns.map(({ name }) => names.indexOf(name));
  const rows = await Array.fromAsync(readFileRows(Readable.from([bytes]), encoding, columns));
  return rows.map((row) => places.map((place) => row[place] ?? null));
}

function tableReader(open: () => Promise<Dialect>) {
  return async (columns: Column[]): Promise<ValueRow[]> => {
    const dialect = await open();
    try {
      const { target } = dialect;
      const found = (await dialect.findColumns(target.table))!;
      const query = textsQuery(dialect, target.quoted, { model: 'events', columns }, found);
      const read = await dialect.openTexts(query, columns.length);
      return await Array.fromAsync(read());
    } finally {
      await dialect.close();
    }
  };
}

async function postgresPlace(): Promise<TypedPlace> {
  const server = await openPostgresServer();
  const config = await server.freshConfig();
  return {
    name: 'PostgreSQL',
    destination: { type: 'Postgres', config },
    read: tableReader(() => openPostgres(config, server.deps)),
    close: () => server.close(),
  };
}

async function clickHousePlace({ harness }: QueryHarness): Promise<TypedPlace> {
  const server = new URL(harness.stores.clickhouse_url);
  const client = createClient({ url: harness.stores.clickhouse_url, log: { level: 127 } });
  const door = await openClickHouseProxy(server.origin, { tls: true });
  const database = `${server.pathname.slice(1)}_typed`;
  await client.command({ query: `CREATE DATABASE ${identifier(database)}` });
  const access = { user: server.username, password: decodeURIComponent(server.password) };
  const config = { ...access, url: door.url, database, has_self_signed_cert: true };
  const { engine } = harness.deps;
  const deps = { ...engine, signal: new AbortController().signal };
  return {
    name: 'ClickHouse',
    destination: { type: 'ClickHouse', config: { ...config, table_name: 'typed' } },
    read: tableReader(() => reachClickHouse({ ...config, table_name: 'typed' }, deps)),
    close: async () => {
      await client.command({ query: `DROP DATABASE ${identifier(database)} SYNC` });
      await client.close();
      await door.close();
    },
  };
}

async function mySqlPlace({ harness }: QueryHarness): Promise<TypedPlace | undefined> {
  if (mariaDbMissing !== undefined) return undefined;
  const server = await openMariaDb();
  const door = await openMySqlProxy(server.port, { tls: false });
  const admin = await server.admin();
  await admin.query('CREATE DATABASE warehouse');
  await admin.end();
  const { user, password } = server;
  const place = { host: '127.0.0.1', port: door.port, database: 'warehouse', table_name: 'typed' };
  const config = { ...place, user, password, require_tls: false };
  const deps = { ...harness.deps.engine, signal: new AbortController().signal };
  return {
    name: 'MariaDB',
    destination: { type: 'MySQL', config },
    read: tableReader(() => openMySql(config, deps)),
    close: async () => {
      await door.close();
      await server.close();
    },
  };
}

/** Opens each place; undefined if it cannot run here. */
export const openers: ((exporting: QueryHarness) => Promise<TypedPlace | undefined>)[] = [
  filePlace('Parquet'),
  filePlace('Avro'),
  filePlace('JSONLines'),
  filePlace('CSV'),
  postgresPlace,
  clickHousePlace,
  mySqlPlace,
];
