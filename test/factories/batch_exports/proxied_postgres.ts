import type { PostgresConfig } from '../../../server/engine/destinations/postgres/config.ts';
import { openTestStores } from '../../harness_stores.ts';
import { accessTo, poolOf, socketOf } from '../../servers/databases/embedded_postgres.ts';
import { openPostgresProxy } from '../../servers/databases/postgres_proxy.ts';

/**
 * Opens a new destination database behind a proxy with TLS, and a pool that reads it. `config` is
 * the config of a destination that writes to one of its tables.
 */
export async function openProxiedPostgres() {
  const target = await openTestStores({ clickhouse: false });
  const proxy = await openPostgresProxy(socketOf(target.database_url), { tls: true });
  const pool = poolOf(target.database_url);
  return {
    pool,
    config: (table_name: string): PostgresConfig => ({
      ...accessTo(target.database_url, proxy.port),
      table_name,
    }),
    close: async () => {
      await pool.end();
      await proxy.close();
      await target.close();
    },
  };
}
