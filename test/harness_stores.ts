import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { openClickHouse } from '../server/platform/clickhouse/client.ts';
import type { ClickHouse } from '../server/platform/clickhouse/client.ts';
import { noteBackgroundMigrations } from '../server/platform/background_migrations/files.ts';
import { migrateClickHouse } from '../server/platform/clickhouse/migrate.ts';
import { silentLog } from '../server/platform/log.ts';
import { openDatabase } from '../server/platform/postgres/database.ts';
import type { Database } from '../server/platform/postgres/database.ts';
import { migratePostgres } from '../server/platform/postgres/migrate.ts';

const migrations = fileURLToPath(new URL('../migrations', import.meta.url));
/** An address without a listener, for test files that declare that they need no ClickHouse. */
const no_clickhouse_url = 'http://127.0.0.1:9/none';

/** The URLs of both stores of a server. */
export type StoreUrls = { database_url: string; clickhouse_url: string };

/** A migrated database in each store for one test file. `close` removes them. */
export type TestStores = StoreUrls & { close(): Promise<void> };

/**
 * Opens the stores of one test file: a fresh database in those of `SLUICE_TEST_DATABASE_URL` and
 * `SLUICE_TEST_CLICKHOUSE_URL` (set by scripts/check/check.ts so that a whole run shares two
 * servers, where the databases are copies of the migrated ones of `SLUICE_TEST_DATABASE_TEMPLATE`
 * and `SLUICE_TEST_CLICKHOUSE_TEMPLATE`), else embedded ones in a temporary folder. `own` is for
 * files whose queries reach memory limits. The embedded engine continues to count some memory of
 * such a query, until other files have none left.
 */
export async function openTestStores(options: {
  clickhouse: boolean | 'own';
}): Promise<TestStores> {
  const closing: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const step of closing.toReversed()) await step();
  };
  try {
    const name = `test_${randomBytes(6).toString('hex')}`;
    const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'));
    closing.push(() => rm(folder, { recursive: true, force: true }));
    const database_url = await freshPostgres(name, folder, closing);
    const clickhouse_url = options.clickhouse
      ? await freshClickHouse(name, folder, closing, options.clickhouse === 'own')
      : no_clickhouse_url;
    return { database_url, clickhouse_url, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A client of a new analytics store, which closes with it. */
export async function openTestClickHouse(): Promise<{ clickhouse: ClickHouse } & TestStores> {
  const stores = await openTestStores({ clickhouse: true });
  const clickhouse = openClickHouse(stores.clickhouse_url, { application: 'sluice-test' });
  const close = async () => {
    await clickhouse.close();
    await stores.close();
  };
  return { ...stores, clickhouse, close };
}

async function freshPostgres(
  name: string,
  folder: string,
  closing: (() => Promise<unknown>)[],
): Promise<string> {
  let server_url = process.env['SLUICE_TEST_DATABASE_URL'];
  if (server_url === undefined) {
    const { openEmbeddedPostgres } =
      await import('../server/platform/embedded/postgres/postgres.ts');
    const store = await openEmbeddedPostgres({
      folder: join(folder, 'postgres'),
      log: silentLog(),
    });
    closing.push(() => store.stop());
    server_url = store.url;
  }
  const server = serverAt(server_url);
  const template = process.env['SLUICE_TEST_DATABASE_TEMPLATE'];
  // Without the strategy, the copy goes through the log page by page, which takes four times as
  // long.
  const copied = template === undefined ? '' : ` TEMPLATE ${template} STRATEGY FILE_COPY`;
  await server.query(`CREATE DATABASE ${name}${copied}`);
  closing.push(() => server.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  const url = withDatabase(server_url, name);
  if (template !== undefined) return url;
  const db = openDatabase(url, { connections_max: 1, application_name: 'sluice-test' });
  await migrateAsStarted(db).finally(() => db.close());
  return url;
}

/** Brings a database to this release, as the start of a server does. */
export async function migrateAsStarted(db: Database): Promise<void> {
  await migratePostgres(db, migrations);
  await noteBackgroundMigrations(db, join(migrations, 'clickhouse', 'background'));
}

const servers = new Map<string, pg.Pool>();

/**
 * The connection of this process that creates and drops databases. It keeps no process alive, and
 * is opened again if its server has ended it.
 */
function serverAt(connectionString: string): pg.Pool {
  let server = servers.get(connectionString);
  if (server === undefined) {
    const application_name = 'sluice-test';
    const whileIdle = { allowExitOnIdle: true, idleTimeoutMillis: 0 };
    server = new pg.Pool({ connectionString, application_name, max: 1, ...whileIdle });
    server.on('error', () => {});
    servers.set(connectionString, server);
  }
  return server;
}

async function freshClickHouse(
  name: string,
  folder: string,
  closing: (() => Promise<unknown>)[],
  isOwn: boolean,
): Promise<string> {
  let server_url = isOwn ? undefined : process.env['SLUICE_TEST_CLICKHOUSE_URL'];
  if (server_url === undefined) {
    const { openEmbeddedClickHouse } =
      await import('../server/platform/embedded/clickhouse/clickhouse.ts');
    const store = await openEmbeddedClickHouse({
      folder: join(folder, 'clickhouse'),
      log: silentLog(),
    });
    closing.push(() => store.stop());
    server_url = store.url;
  }
  const server = openClickHouse(server_url, { application: 'sluice-test' });
  await server.command({ query: `CREATE DATABASE ${name}` });
  closing.push(async () => {
    await server.command({ query: `DROP DATABASE IF EXISTS ${name}` });
    await server.close();
  });
  const url = withDatabase(server_url, name);
  const template = isOwn ? undefined : process.env['SLUICE_TEST_CLICKHOUSE_TEMPLATE'];
  if (template === undefined) await migrateClickHouseAsStarted(url);
  else await copyClickHouse(server, template, name);
  return url;
}

/** Brings a database of ClickHouse to this release, as the start of a server does. */
export async function migrateClickHouseAsStarted(url: string): Promise<void> {
  const clickhouse = openClickHouse(url, { application: 'sluice-test' });
  await migrateClickHouse(clickhouse, join(migrations, 'clickhouse')).finally(() =>
    clickhouse.close(),
  );
}

type Created = { name: string; engine: string; create_table_query: string };
const templates = new Map<string, Promise<Created[]>>();

/**
 * Creates the tables of a migrated database in an empty one, each with its final columns. All
 * migrations would take three times as long, because an `ALTER TABLE` reads all columns.
 */
async function copyClickHouse(server: ClickHouse, template: string, name: string): Promise<void> {
  const reading = templates.get(template) ?? readTemplate(server, template);
  templates.set(template, reading);
  const create = ({ create_table_query }: Created) =>
    server.command({ query: create_table_query.replaceAll(`${template}.`, `${name}.`) });
  const created = await reading;
  await Promise.all(created.filter(({ engine }) => engine !== 'View').map(create));
  await Promise.all(created.filter(({ engine }) => engine === 'View').map(create));
  await server.command({
    query: `INSERT INTO ${name}.migrations SELECT * FROM ${template}.migrations`,
  });
}

function readTemplate(server: ClickHouse, template: string): Promise<Created[]> {
  return server.rows<Created>({
    query: `SELECT name, engine, create_table_query FROM system.tables
      WHERE database = {template:String}`,
    query_params: { template },
  });
}

/** The URL with another database; not by `URL`, which refuses PostgreSQL's URLs without a host. */
export function withDatabase(url: string, name: string): string {
  return url.replace(/^([a-z]+:\/\/[^/?]*)(\/[^?]*)?/, `$1/${name}`);
}
