import { createClient } from '@clickhouse/client';
import { identifier } from '../../server/engine/destinations/formats/expression.ts';
import { openClickHouseProxy } from '../servers/databases/clickhouse_proxy.ts';
import type { ClickHouseProxy } from '../servers/databases/clickhouse_proxy.ts';
import { openTestStores } from '../harness_stores.ts';
import type { TestStores } from '../harness_stores.ts';
import { mariaDbMissing, openMariaDb } from '../servers/databases/mariadb_server.ts';
import { openMySqlProxy } from '../servers/databases/mysql_proxy.ts';
import type { MySqlProxy } from '../servers/databases/mysql_proxy.ts';
import { RedshiftWorld } from '../destinations/redshift_world.ts';
import { impatient } from './matrix.ts';
import type { FaultCase, OpenFaults, Scene } from './matrix.ts';

type Place = Pick<Scene, 'config' | 'visible' | 'engine'> & {
  run(statement: string): Promise<unknown>;
  table: string;
};
type Changes = Record<string, unknown>;
type Fault = [fault: string, code: string, changes: Changes | (() => Promise<Changes>)];

let places = 0;

/** Faults of a ClickHouse. */
export async function openClickHouseFaults(): Promise<OpenFaults> {
  const stores: TestStores = await openTestStores({ clickhouse: true });
  const client = createClient({ url: stores.clickhouse_url, log: { level: 127 } });
  const url = new URL(stores.clickhouse_url);
  const [secure, plain] = await Promise.all([
    openClickHouseProxy(url.origin, { tls: true }),
    openClickHouseProxy(url.origin, { tls: false }),
  ]);
  const databases: string[] = [];
  const place = async (): Promise<Place> => {
    const database = `${url.pathname.slice(1)}_faults_${(places += 1)}`;
    databases.push(database);
    await client.command({ query: `CREATE DATABASE ${identifier(database)}` });
    const rows = async (query: string) =>
      Number(
        (await (await client.query({ query, format: 'JSONEachRow' })).json<{ rows: string }>())[0]!
          .rows,
      );
    const isThere = () =>
      rows(
        `SELECT count() AS rows FROM system.tables WHERE database = '${database}'
          AND name = 'events'`,
      );
    return {
      config: {
        url: secure.url,
        user: url.username,
        password: decodeURIComponent(url.password),
        has_self_signed_cert: true,
        database,
      },
      visible: async () =>
        (await isThere()) === 0
          ? 0
          : rows(`SELECT count() AS rows FROM ${identifier(database)}.events`),
      run: (query) => client.command({ query }),
      table: `${identifier(database)}.events`,
    };
  };
  return {
    cases: clickHouseCases(place, { secure, plain }),
    close: async () => {
      for (const database of databases)
        await client.command({ query: `DROP DATABASE ${identifier(database)} SYNC` });
      await client.close();
      await Promise.all([secure.close(), plain.close()]);
      await stores.close();
    },
  };
}

function clickHouseCases(
  place: () => Promise<Place>,
  { secure, plain }: { secure: ClickHouseProxy; plain: ClickHouseProxy },
): FaultCase[] {
  return [
    ...configured('ClickHouse', place, [
      ['the wrong password', 'authentication_failed', { password: 'wrong-password' }],
      ['no such database', 'database_missing', { database: 'nothing' }],
      ['TLS is not offered', 'tls_not_offered', { url: plain.url.replace('http:', 'https:') }],
      ['the certificate is not verified', 'tls_not_verified', { has_self_signed_cert: false }],
    ]),
    created(
      'ClickHouse',
      place,
      'the table lacks a column',
      'columns_missing',
      (table) => `CREATE TABLE ${table} (uuid UUID) ENGINE = MergeTree ORDER BY ()`,
    ),
    created(
      'ClickHouse',
      place,
      'the table has no parts',
      'table_unsuitable',
      (table) => `CREATE TABLE ${table} (uuid UUID) ENGINE = Log`,
    ),
    impatient('ClickHouse', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      return {
        ...(await place()),
        strike: async () =>
          secure.watch((statement) => (statement.startsWith('INSERT') ? promise : undefined)),
        lift: async () => {
          secure.watch(undefined);
          resolve();
        },
      };
    }),
  ];
}

type MySqlWorld = Record<'secure' | 'plain', MySqlProxy> & {
  place(): Promise<Place>;
  close(): Promise<void>;
};

/** Faults of a MySQL server, which is started for the first of them; none without MariaDB. */
export function mySqlFaults(): OpenFaults {
  if (mariaDbMissing !== undefined) return { cases: [], close: async () => {} };
  let opened: Promise<MySqlWorld> | undefined;
  return {
    cases: mySqlCases(() => (opened ??= openMySql())),
    close: async () => (await opened)?.close(),
  };
}

async function openMySql(): Promise<MySqlWorld> {
  const server = await openMariaDb();
  const admin = await server.admin();
  const [secure, plain] = await Promise.all([
    openMySqlProxy(server.port, { tls: true }),
    openMySqlProxy(server.port, { tls: false }),
  ]);
  const place = async (): Promise<Place> => {
    const database = `faults_${(places += 1)}`;
    await admin.query(`CREATE DATABASE ${database}`);
    const rows = async (query: string) =>
      ((await admin.query(query))[0] as { found: number }[])[0]!.found;
    const isThere = () =>
      rows(
        `SELECT count(*) AS found FROM information_schema.TABLES WHERE TABLE_SCHEMA = '${database}'
          AND TABLE_NAME = 'events'`,
      );
    return {
      config: {
        user: server.user,
        password: server.password,
        host: '127.0.0.1',
        port: secure.port,
        has_self_signed_cert: true,
        database,
      },
      visible: async () =>
        (await isThere()) === 0 ? 0 : rows(`SELECT count(*) AS found FROM ${database}.events`),
      run: (statement) => admin.query(statement),
      table: `${database}.events`,
    };
  };
  return {
    secure,
    plain,
    place,
    close: async () => {
      await admin.end();
      await Promise.all([secure.close(), plain.close()]);
      await server.close();
    },
  };
}

function mySqlCases(world: () => Promise<MySqlWorld>): FaultCase[] {
  const place = async () => (await world()).place();
  const plainly = async () => ({ port: (await world()).plain.port });
  return [
    ...configured('MySQL', place, [
      ['the wrong password', 'authentication_failed', { password: 'wrong-password' }],
      ['no such database', 'database_missing', { database: 'nothing' }],
      ['TLS is not offered', 'tls_not_offered', plainly],
    ]),
    created(
      'MySQL',
      place,
      'the table lacks a column',
      'columns_missing',
      (table) => `CREATE TABLE ${table} (uuid text)`,
    ),
    created(
      'MySQL',
      place,
      'the table has no transactions',
      'table_unsuitable',
      (table) => `CREATE TABLE ${table} (uuid text) ENGINE = MyISAM`,
    ),
    impatient('MySQL', async () => ({
      ...(await place()),
      strike: async () => (await world()).secure.hold(),
      lift: async () => (await world()).secure.release(),
    })),
  ];
}

/** Faults of a Redshift and of the bucket that it loads from. */
export async function openRedshiftFaults(): Promise<OpenFaults> {
  const world = new RedshiftWorld('COPY');
  await world.start();
  const place = async (): Promise<Place> => {
    const config = await world.freshConfig();
    const table = world.inSchema(config);
    return {
      config,
      visible: async () =>
        (await world.tables(config)).includes('events')
          ? (await world.pool.query<{ rows: number }>(`SELECT count(*)::int AS rows FROM ${table}`))
              .rows[0]!.rows
          : 0,
      run: (statement) => world.pool.query(statement),
      table,
    };
  };
  return {
    cases: [
      ...configured('Redshift', place, [
        ['the wrong password', 'authentication_failed', { password: 'wrong-password' }],
        ['no such schema', 'schema_missing', { schema: 'nothing' }],
        ['no such bucket', 'bucket_missing', { bucket_name: 'no-such-bucket' }],
      ]),
      created(
        'Redshift',
        place,
        'the table lacks a column',
        'columns_missing',
        (table) => `CREATE TABLE ${table} (uuid text)`,
      ),
      impatient('Redshift', async () => ({
        ...(await place()),
        strike: async () => world.bucket.holdNext(/^(PUT|POST) /),
      })),
    ],
    close: () => world.stop(),
  };
}

/** Only another config helps. */
export function configured(
  destination: string,
  place: () => Promise<Pick<Scene, 'config' | 'visible' | 'engine'>>,
  faults: Fault[],
): FaultCase[] {
  return faults.map(([fault, code, changes]) => ({
    destination,
    fault,
    code,
    ending: 'Failed',
    prepare: async () => {
      const { config, ...scene } = await place();
      const changed = typeof changes === 'function' ? await changes() : changes;
      return { ...scene, config: { ...config, ...changed }, is_lasting: true as const };
    },
  }));
}

/** A table from before the export; without it, the export creates its own. */
function created(
  destination: string,
  place: () => Promise<Place>,
  fault: string,
  code: string,
  statement: (table: string) => string,
): FaultCase {
  return {
    destination,
    fault,
    code,
    ending: 'Failed',
    prepare: async () => {
      const { config, visible, run, table } = await place();
      return {
        config,
        visible,
        strike: async () => void (await run(statement(table))),
        lift: async () => void (await run(`DROP TABLE ${table}`)),
      };
    },
  };
}
