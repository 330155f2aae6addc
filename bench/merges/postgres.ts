import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { openPostgresStore } from '../../test/merges/stores.ts';
import { first_version, json, list, others } from './table.ts';
import type { ByHand, MergedPlace } from './table.ts';

/** PostgreSQL. Bytes are those of its write-ahead log, each time after a checkpoint and VACUUM. */
export async function openPostgresPlace(): Promise<MergedPlace> {
  const store = await openPostgresStore();
  const place = await store.open();
  const table = String(place.config['table_name']);
  const { user, password, host, port, database } = place.config as pg.ClientConfig;
  const ssl = { rejectUnauthorized: false };
  const access = {
    host: host!,
    port: port!,
    database: database!,
    user: user!,
    password: String(password),
    ssl,
  };
  const client = new pg.Client(access);
  await client.connect();
  const number = async (statement: string) =>
    Number((await client.query<{ n: string }>(statement)).rows[0]!.n);
  return {
    place,
    fill: async (rows) => {
      await client.query(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
      await client.query(
        `INSERT INTO ${table} (${list}) SELECT id, 'name of ' || id, ${json}::jsonb, id / 7.0,
          '${first_version}Z', false FROM generate_series(1, ${rows}) AS id`,
      );
      await client.query(`ANALYZE ${table}`);
    },
    own: ownWays(access, table),
    settle: async () => {
      await client.query(`VACUUM ${table}`);
      await client.query('CHECKPOINT');
    },
    written: async () => ({
      rows: await countWritten(client, number),
      bytes: await number(`SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS n`),
    }),
    count: (changed) => number(`SELECT count(*) AS n FROM ${table} WHERE changed = '${changed}'`),
    close: async () => {
      await client.end();
      await store.close();
    },
  };
}

/** Returns the writes of all sessions. A session reports them when it was idle, or on request. */
async function countWritten(
  client: pg.Client,
  number: (statement: string) => Promise<number>,
): Promise<number> {
  await client.query('SELECT pg_stat_force_next_flush()');
  return number(
    `SELECT tup_inserted + tup_updated AS n FROM pg_stat_database
      WHERE datname = current_database()`,
  );
}

/** Each way opens its own session, like a job that runs now and then. */
function ownWays(access: pg.ClientConfig, table: string): Record<string, ByHand> {
  const set = (value: (name: string) => string) =>
    others.map((name) => `${name} = ${value(name)}`).join(', ');
  const staged =
    (...statements: string[]): ByHand =>
    async (_rows, lines) => {
      const client = new pg.Client(access);
      await client.connect();
      await client.query('BEGIN');
      await client.query(
        `CREATE TEMP TABLE stage ON COMMIT DROP AS SELECT ${list} FROM ${table} LIMIT 0`,
      );
      await pipeline(Readable.from([lines]), client.query(copyFrom('COPY stage FROM STDIN')));
      for (const statement of statements) await client.query(statement);
      await client.query('COMMIT');
      await client.end();
    };
  const newest = `(SELECT DISTINCT ON (id) ${list} FROM stage ORDER BY id, changed DESC) AS s`;
  return {
    'INSERT ... ON CONFLICT': staged(
      `INSERT INTO ${table} AS t (${list}) SELECT ${list} FROM ${newest}
        ON CONFLICT (id) DO UPDATE SET ${set((name) => `EXCLUDED.${name}`)}
        WHERE EXCLUDED.changed > t.changed`,
    ),
    'UPDATE and INSERT': staged(
      `UPDATE ${table} AS t SET ${set((name) => `s.${name}`)} FROM ${newest}
        WHERE t.id = s.id AND s.changed > t.changed`,
      `INSERT INTO ${table} (${list}) SELECT ${list} FROM ${newest}
        WHERE NOT EXISTS (SELECT 1 FROM ${table} AS t WHERE t.id = s.id)`,
    ),
  };
}
