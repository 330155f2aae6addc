import type pg from 'pg';
import { freshDelivery, uuid_only } from '../../factories/batch_exports/deliveries.ts';
import type { PostgresConfig } from '../../../server/engine/destinations/postgres/config.ts';
import type {
  Delivery,
  DestinationDeps,
  SliceOutcome,
} from '../../../server/engine/model/destination/destination.ts';
import { openTestStores } from '../../harness_stores.ts';
import { destinationDeps } from '../../destinations/destination_deps.ts';
import { accessTo, poolOf, socketOf } from './embedded_postgres.ts';
import { openPostgresProxy } from './postgres_proxy.ts';
import type { PostgresProxy } from './postgres_proxy.ts';

/** A PostgreSQL for deliveries, over TCP and TLS. */
export type PostgresServer = {
  pool: pg.Pool;
  proxy: PostgresProxy;
  deps: DestinationDeps;
  /** The socket of the server, for a test's own proxy. */
  socket_path: string;
  /** A config of a new, empty schema. */
  freshConfig(changes?: Partial<PostgresConfig>): Promise<PostgresConfig & { schema: string }>;
  close(): Promise<void>;
};

/** Starts the server and everything that a sink needs to reach it. */
export async function openPostgresServer(): Promise<PostgresServer> {
  const stores = await openTestStores({ clickhouse: false });
  const deps = destinationDeps();
  const pool = poolOf(stores.database_url);
  const socket_path = socketOf(stores.database_url);
  const proxy = await openPostgresProxy(socket_path, { tls: true });
  let schemas = 0;
  return {
    pool,
    proxy,
    deps,
    socket_path,
    freshConfig: async (changes = {}) => {
      const schema = `place_${(schemas += 1)}`;
      await pool.query(`CREATE SCHEMA ${schema}`);
      return { ...accessTo(stores.database_url, proxy.port), schema, ...changes };
    },
    close: async () => {
      await pool.end();
      await proxy.close();
      await deps.outbound.close();
      await stores.close();
    },
  };
}

/** A new delivery of events with one column, `uuid`. */
export const uuidDelivery = (changes: Partial<Delivery> = {}): Delivery =>
  freshDelivery({ columns: uuid_only, ...changes });

/** Returns the outcome that the engine would record for a slice with this text. */
export function outcomeOf(
  number: number,
  text: string,
  written: { name: string; state: null } = { name: 'x', state: null },
): SliceOutcome {
  return {
    number,
    ...written,
    records: text.split('\n').length - 1,
    bytes: Buffer.byteLength(text),
    sha256: '',
  };
}
