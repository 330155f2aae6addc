import pg from 'pg';
import type { PostgresConfig } from '../../../server/engine/destinations/postgres/config.ts';
import { openTestStores } from '../../harness_stores.ts';
import { openPostgresProxy } from '../../servers/databases/postgres_proxy.ts';

/**
 * Opens a database of its own to deliver to, behind a proxy with TLS, and a pool that looks at it;
 * `config` is that of a destination which writes to a table of it.
 */
export async function openProxiedPostgres() {
  const target = await openTestStores({ clickhouse: false });
  const url = new URL(target.database_url.replace('@/', '@host/'));
  const proxy = await openPostgresProxy(
    `${url.searchParams.get('host')}/.s.PGSQL.${url.searchParams.get('port') ?? '5432'}`,
    { tls: true },
  );
  const pool = new pg.Pool({
    connectionString: target.database_url,
    max: 2,
    options: '-c timezone=UTC',
  });
  pool.on('error', () => undefined);
  return {
    pool,
    config: (table_name: string): PostgresConfig => ({
      user: url.username,
      password: url.password,
      host: '127.0.0.1',
      port: proxy.port,
      database: url.pathname.slice(1),
      has_self_signed_cert: true,
      table_name,
    }),
    close: async () => {
      await pool.end();
      await proxy.close();
      await target.close();
    },
  };
}
