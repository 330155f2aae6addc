import http from 'node:http';
import tls from 'node:tls';
import type pg from 'pg';
import { betweenFiles } from '../between_files.ts';
import { tablesIn } from '../factories/batch_exports/deliveries.ts';
import { destinationDeps } from './destination_deps.ts';
import type { Config } from './destination_world.ts';
import type { RefusingWorld } from './rejected_contract.ts';
import { openTestStores } from '../harness_stores.ts';
import type { TestStores } from '../harness_stores.ts';
import { certificate } from '../servers/certificate.ts';
import { poolOf } from '../servers/databases/embedded_postgres.ts';
import { openSnowflakeServer } from '../servers/snowflake/server.ts';
import type { SnowflakeServer } from '../servers/snowflake/server.ts';
import type { DestinationDeps } from '../../server/engine/model/destination/destination.ts';
import { quoted } from '../../server/engine/destinations/sql_tables/layout.ts';
import type { SnowflakeConfig } from '../../server/engine/destinations/snowflake/config.ts';
import { snowflake } from '../../server/engine/destinations/snowflake/snowflake.ts';
import { listen } from '../servers/loopback.ts';

let stores: TestStores;

/**
 * The parts that the server passes to the destination, opened before the tests of the files that
 * import it and closed after them, like everything below.
 */
export let deps: DestinationDeps;

/** The account. */
export let server: SnowflakeServer;

/** Connections to the database behind the account. */
export let pool: pg.Pool;

/** A web server other than Snowflake. */
export let plain: http.Server;

let schemas = 0;

/** A config with its own schema. */
export async function freshConfig(): Promise<SnowflakeConfig> {
  const schema = `Place "${(schemas += 1)}"`;
  await pool.query(`CREATE SCHEMA ${quoted(schema)}`);
  return server.config(schema);
}

/** A table of a config, with its schema. */
export const inSchema = (config: Config, table = 'events') =>
  `${quoted(String(config['schema']))}.${quoted(table)}`;

/** The tables of the schema of a config. */
export const tables = (config: Config) => tablesIn(pool, config['schema']);

/** Tables that do not belong to the export, and lines of attempts without a receipt. */
export async function leftovers(config: Config): Promise<string[]> {
  const found = await tables(config);
  const others = found.filter((name) => !['events', 'sluice_receipts'].includes(name));
  if (!found.includes('sluice_receipts')) return others;
  const claims = await pool.query<{ attempt_id: string }>(
    `SELECT attempt_id FROM ${inSchema(config, 'sluice_receipts')} WHERE manifest IS NULL`,
  );
  return [...others, ...claims.rows.map((row) => row.attempt_id)];
}

/** Tables that refuse numbers from 100 on. */
export const refusing: RefusingWorld = {
  definition: snowflake,
  deps: () => deps,
  code: 'value_refused',
  endSessions: () => server.endSessions(),
  freshPlace: async () => {
    const config = await freshConfig();
    const table = inSchema(config);
    await pool.query(`CREATE TABLE ${table} (n numeric(2, 0))`);
    const rows = async (statement: string) => (await pool.query(statement)).rows;
    return {
      config,
      relent: () => pool.query(`ALTER TABLE ${table} ALTER n TYPE numeric(4, 0)`),
      rows: async () => (await rows(`SELECT n FROM ${table} ORDER BY n`)).map(({ n }) => Number(n)),
      rejected: async () => {
        if (!(await tables(config)).includes('events_rejected')) return [];
        const found = await rows(`SELECT number, slice, code, record
          FROM ${inSchema(config, 'events_rejected')} ORDER BY number`);
        return found.map((row) => ({
          ...row,
          number: Number(row.number),
          slice: Number(row.slice),
        }));
      },
    };
  },
};

/** Opens the exports of this file; files that need it run one after another. */
export const openAroundTests = betweenFiles(
  async () => {
    deps = destinationDeps();
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate]);
    stores = await openTestStores({ clickhouse: false });
    pool = poolOf(stores.database_url);
    server = await openSnowflakeServer(stores.database_url);
    plain = http.createServer((_request, response) => void response.end());
    await listen(plain);
  },
  async () => {
    await server.close();
    plain.close();
    await pool.end();
    await deps.outbound.close();
    await stores.close();
  },
);
