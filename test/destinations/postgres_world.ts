import pg from 'pg';
import { destinationDeps } from './destination_deps.ts';
import type { Config } from './destination_world.ts';
import { betweenFiles } from '../between_files.ts';
import { openTestStores } from '../harness_stores.ts';
import type { TestStores } from '../harness_stores.ts';
import { accessTo, poolOf, socketOf } from '../servers/databases/embedded_postgres.ts';
import { openPostgresProxy } from '../servers/databases/postgres_proxy.ts';
import type { PostgresProxy } from '../servers/databases/postgres_proxy.ts';
import type { PostgresConfig } from '../../server/engine/destinations/postgres/config.ts';

/** The parts that the server passes to the destination. */
export const deps = destinationDeps();

let stores: TestStores;

/** Connections without the guard and our own code. */
export let pool: pg.Pool;

/** A proxy of the server with TLS. */
export let secure: PostgresProxy;

/** A proxy of the server without TLS. */
export let plain: PostgresProxy;

let base: PostgresConfig;

let schemas = 0;

/** A config with its own schema. */
export async function freshConfig(): Promise<PostgresConfig> {
  const schema = `Place "${(schemas += 1)}"`;
  await pool.query(`CREATE SCHEMA ${pg.escapeIdentifier(schema)}`);
  return { ...base, schema };
}

/** A table of a config, with its schema. */
export const inSchema = (config: Config, table = 'events') =>
  `${pg.escapeIdentifier(String(config['schema']))}.${pg.escapeIdentifier(table)}`;

/** Opens the exports of this file; files that need it run one after another. */
export const openAroundTests = betweenFiles(
  async () => {
    stores = await openTestStores({ clickhouse: false });
    pool = poolOf(stores.database_url);
    const socketPath = socketOf(stores.database_url);
    secure = await openPostgresProxy(socketPath, { tls: true });
    plain = await openPostgresProxy(socketPath, { tls: false });
    base = accessTo(stores.database_url, secure.port);
  },
  async () => {
    await pool.end();
    await secure.close();
    await plain.close();
    await deps.outbound.close();
    await stores.close();
  },
);
