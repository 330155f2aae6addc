import { Readable } from 'node:stream';
import { beforeEach } from 'node:test';
import tls from 'node:tls';
import type pg from 'pg';
import { destinationDeps } from './destination_deps.ts';
import { betweenFiles } from '../between_files.ts';
import { openTestStores } from '../harness_stores.ts';
import type { TestStores } from '../harness_stores.ts';
import { uuidDelivery } from '../servers/databases/postgres_destination.ts';
import { certificate } from '../servers/certificate.ts';
import { poolOf } from '../servers/databases/embedded_postgres.ts';
import { openSnowflakeServer } from '../servers/snowflake/server.ts';
import type { SnowflakeServer } from '../servers/snowflake/server.ts';
import type { SnowflakeFault as Fault } from '../servers/snowflake/state.ts';
import { openOutbound } from '../../server/platform/outbound/outbound.ts';
import type { Outbound } from '../../server/platform/outbound/outbound.ts';
import type {
  Delivery,
  Sink,
  SliceOutcome,
} from '../../server/engine/model/destination/destination.ts';
import type { SnowflakeConfig } from '../../server/engine/destinations/snowflake/config.ts';
import { snowflake } from '../../server/engine/destinations/snowflake/snowflake.ts';

/**
 * The guard, opened before the tests of the files that import it and closed after them, like
 * everything below.
 */
export let outbound: Outbound;

let stores: TestStores;

/** The account; forgets its faults before each test. */
export let server: SnowflakeServer;

/** A connection to the database behind the account. */
export let pool: pg.Pool;

/** A config with a new schema for each test. */
export let config: SnowflakeConfig;

let schemas = 0;

const outcomes: SliceOutcome[] = [
  { number: 0, name: 'x', records: 1, bytes: 0, sha256: '', state: null },
];

/** A new delivery of one column. */
export const delivery = (): Delivery =>
  uuidDelivery({ columns: [{ name: 'note', type: 'text', nullable: true, expression: 'note' }] });

/** An attempt at a delivery. */
export const open = (
  given: Delivery,
  signal = new AbortController().signal,
  changes: Partial<SnowflakeConfig> = {},
): Promise<Sink> =>
  snowflake.open({ ...config, ...changes }, given, {
    ...destinationDeps(outbound),
    signal,
  });

/** Writes the only slice of a delivery. */
export const write = (sink: Sink) =>
  sink.write({ number: 0, records: 1, is_last: true }, Readable.from([Buffer.from('a note\n')]));

/** The manifest of each delivery. */
export const manifest = { name: 'manifest', text: '{"signed":true}' };

/** Commits the only slice of a delivery. */
export const commit = (sink: Sink) => sink.commit(outcomes, manifest);

/** A whole delivery. */
export async function deliver(given: Delivery): Promise<void> {
  const sink = await open(given);
  try {
    await write(sink);
    await commit(sink);
  } finally {
    await sink.close();
  }
}

/** Returns the number of rows in a table of the schema. */
export async function count(table: string): Promise<number> {
  return (
    (
      await pool.query<{ rows: number }>(
        `SELECT count(*)::int AS rows FROM "${config.schema}"."${table}"`,
      )
    ).rows[0]?.rows ?? 0
  );
}

/** Creates the answer of an account that refuses. */
export const refusal = (code: string, sql_state: string, message: string): Fault => ({
  code,
  sql_state,
  message,
});

const openAccount = betweenFiles(
  async () => {
    outbound = openOutbound({ allow: ['127.0.0.0/8', '::1'] });
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate]);
    stores = await openTestStores({ clickhouse: false });
    pool = poolOf(stores.database_url);
    server = await openSnowflakeServer(stores.database_url);
  },
  async () => {
    await server.close();
    await pool.end();
    await outbound.close();
    await stores.close();
  },
);

/** Opens the exports of this file; files that need it run one after another. */
export function openAroundTests(): void {
  openAccount();
  beforeEach(async () => {
    server.recover();
    const schema = `S${(schemas += 1)}`;
    await pool.query(`CREATE SCHEMA "${schema}"`);
    config = server.config(schema);
  });
}
