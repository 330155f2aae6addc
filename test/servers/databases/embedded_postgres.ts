import pg from 'pg';

const urlOf = (database_url: string) => new URL(database_url.replace('@/', '@host/'));

/** Returns the socket path of an embedded PostgreSQL, the only place where it listens. */
export function socketOf(database_url: string): string {
  const { searchParams } = urlOf(database_url);
  return `${searchParams.get('host')}/.s.PGSQL.${searchParams.get('port') ?? '5432'}`;
}

/** Returns the config of an embedded PostgreSQL behind a proxy with TLS at this port. */
export function accessTo(database_url: string, port: number) {
  const { username: user, password, pathname } = urlOf(database_url);
  const database = pathname.slice(1);
  const has_self_signed_cert = true as const;
  return { user, password, host: '127.0.0.1', port, database, has_self_signed_cert };
}

/** Opens two connections to the database, in UTC. */
export function poolOf(database_url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: database_url, max: 2, options: '-c timezone=UTC' });
  pool.on('error', () => undefined);
  return pool;
}
