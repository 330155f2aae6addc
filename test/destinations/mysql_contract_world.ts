import { describe, test } from 'node:test';
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { destinationDeps } from './destination_deps.ts';
import type { Config } from './destination_world.ts';
import { betweenFiles } from '../between_files.ts';
import { mariaDbMissing, openMariaDb } from '../servers/databases/mariadb_server.ts';
import type { MariaDbServer } from '../servers/databases/mariadb_server.ts';
import { openMySqlProxy } from '../servers/databases/mysql_proxy.ts';
import type { MySqlProxy } from '../servers/databases/mysql_proxy.ts';
import { quoted } from '../../server/engine/destinations/mysql/config.ts';
import type { MySqlConfig } from '../../server/engine/destinations/mysql/config.ts';

/** The parts that the server passes to the destination. */
export const deps = destinationDeps();

let server: MariaDbServer;

let admin: Connection;

let secure: MySqlProxy;

/** A proxy of the server without TLS, opened before the tests of `onMariaDb`. */
export let plain: MySqlProxy;

let base: Omit<MySqlConfig, 'database'>;

let databases = 0;

const openServer = betweenFiles(
  async () => {
    server = await openMariaDb();
    admin = await server.admin();
    secure = await openMySqlProxy(server.port, { tls: true });
    plain = await openMySqlProxy(server.port, { tls: false });
    base = {
      user: server.user,
      password: server.password,
      host: '127.0.0.1',
      port: secure.port,
      has_self_signed_cert: true,
    };
  },
  async () => {
    await admin.end();
    await secure.close();
    await plain.close();
    await server.close();
    await deps.outbound.close();
  },
);

/** Registers tests that need MariaDB; without it they are skipped with a reason. */
export function onMariaDb(tests: () => void): void {
  // The runner does not count a skipped suite, so this test is counted instead.
  if (mariaDbMissing !== undefined)
    test('the tests on MariaDB', { skip: mariaDbMissing }, () => undefined);
  describe('on MariaDB', { skip: mariaDbMissing ?? false }, () => {
    openServer();
    tests();
  });
}

/** A config with its own database. */
export async function freshConfig(): Promise<MySqlConfig> {
  const database = `Place \`"${(databases += 1)}`;
  // The settings of many servers: case-insensitive, three bytes for each character.
  await run(`CREATE DATABASE ${quoted(database)} CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci`);
  return { ...base, database };
}

/** A table of a config, with its database. */
export const inDatabase = (config: Config, table = 'events') =>
  `${quoted(String(config['database']))}.${quoted(table)}`;

/** The rows of a query. */
export async function rows<Row>(statement: string, values: unknown[] = []): Promise<Row[]> {
  return (await admin.query<RowDataPacket[]>(statement, values))[0] as Row[];
}

/** Runs a statement. */
export async function run(statement: string): Promise<void> {
  await admin.query(statement);
}
