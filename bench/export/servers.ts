// Destinations that are servers, for export.ts: databases and an HTTP endpoint.
import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { request } from 'undici';
import type { FormatSelection } from '../../server/engine/destinations/formats/expression.ts';
import { selectFor } from '../../server/engine/destinations/formats/select.ts';
import { models } from '../../server/engine/model/models/index.ts';
import { openOwnClickHouse } from '../../test/factories/events/embedded_clickhouse.ts';
import { openClickHouseProxy } from '../../test/servers/databases/clickhouse_proxy.ts';
import { accessTo, poolOf, socketOf } from '../../test/servers/databases/embedded_postgres.ts';
import { openMariaDb } from '../../test/servers/databases/mariadb_server.ts';
import { openPostgresProxy } from '../../test/servers/databases/postgres_proxy.ts';
import type { BenchServer } from '../measure/bench_server.ts';
import { seconds, sourceOf } from './place.ts';
import type { Place } from './place.ts';
import { postLines } from '../ingestion/post_lines.ts';

const run = promisify(execFile);
const { files, tables } = models.events.columns;
const names = tables.map(({ name }) => name);

/** Writes the rows of the source into a file that a loader reads. */
async function writeBytes(
  { folder, clickhouse }: BenchServer,
  select: FormatSelection,
  team_id: number,
): Promise<string> {
  const file = join(folder, 'bytes');
  const { stream } = await clickhouse.exec({
    query: `SELECT ${select.expressions} ${sourceOf(team_id)} FORMAT ${select.format}`,
    clickhouse_settings: select.settings,
  });
  await pipeline(stream, createWriteStream(file));
  return file;
}

/**
 * Compares with `psql \copy`. Both use one socket, because the embedded PostgreSQL listens only on
 * a Unix socket.
 */
export async function postgresPlace(server: BenchServer): Promise<Place> {
  const door = await openPostgresProxy(socketOf(server.database_url), { tls: false });
  const pool = poolOf(server.database_url);
  await pool.query('CREATE SCHEMA IF NOT EXISTS warehouse');
  const { user, password, database } = accessTo(server.database_url, door.port);
  const select = selectFor({ format: 'TabSeparated', compression: null }, tables);
  const columns = names.map((name) => `"${name}"`).join(', ');
  let file = '';
  return {
    name: 'Postgres',
    own_name: 'psql \\copy',
    aim: 0.9,
    prepare: async (team_id) => void (file = await writeBytes(server, select, team_id)),
    destination: async () => ({
      type: 'Postgres',
      config: {
        host: '127.0.0.1',
        port: door.port,
        user,
        password,
        database,
        schema: 'warehouse',
        table_name: 'ours',
        require_tls: false,
      },
    }),
    own: async () => {
      await pool.query('CREATE TABLE warehouse.own (LIKE warehouse.ours)');
      const connection =
        `host=127.0.0.1 port=${door.port} user=${user} password=${password} ` +
        `dbname=${database} sslmode=disable`;
      const copy = `\\copy warehouse.own (${columns}) FROM '${file}'`;
      return { loaded: await seconds(() => run('psql', [connection, '-c', copy])) };
    },
    tidyUp: async () => void (await pool.query('DROP TABLE warehouse.own, warehouse.ours')),
    close: async () => {
      await pool.end();
      await door.close();
    },
  };
}

/** Compares with `LOAD DATA LOCAL`, which many servers do not allow. */
export async function mySqlPlace(server: BenchServer): Promise<Place> {
  const place = await openMariaDb();
  const admin = await place.admin();
  await admin.query('CREATE DATABASE warehouse');
  await admin.query('SET GLOBAL local_infile = 1');
  const select = selectFor({ format: 'TabSeparated', compression: null, is_exact: true }, tables);
  const fields = tables.map(({ name, type }) =>
    type === 'timestamp' ? `@${name}` : `\`${name}\``,
  );
  const set = tables.flatMap(({ name, type }) =>
    type === 'timestamp' ? [`\`${name}\` = REPLACE(REPLACE(@${name}, 'T', ' '), 'Z', '')`] : [],
  );
  let file = '';
  return {
    name: 'MySQL',
    own_name: 'LOAD DATA LOCAL',
    aim: 0.8,
    prepare: async (team_id) => void (file = await writeBytes(server, select, team_id)),
    destination: async () => ({
      type: 'MySQL',
      config: {
        host: '127.0.0.1',
        port: place.port,
        user: place.user,
        password: place.password,
        database: 'warehouse',
        table_name: 'ours',
        has_self_signed_cert: true,
      },
    }),
    own: async () => {
      await admin.query('CREATE TABLE warehouse.own LIKE warehouse.ours');
      const load =
        `LOAD DATA LOCAL INFILE '${file}' INTO TABLE warehouse.own CHARACTER SET utf8mb4 ` +
        `(${fields.join(', ')}) SET ${set.join(', ')}`;
      const access = [
        '--host=127.0.0.1',
        `--port=${place.port}`,
        `--user=${place.user}`,
        `--password=${place.password}`,
        '--local-infile=1',
      ];
      return { loaded: await seconds(() => run('mysql', [...access, '-e', load])) };
    },
    tidyUp: async () => void (await admin.query('DROP TABLE warehouse.own, warehouse.ours')),
    close: async () => {
      await admin.end();
      await place.close();
    },
  };
}

/**
 * Compares with the file as the body of one INSERT, as `curl` or the server's client sends it. Both
 * use one socket, because the embedded server does not decompress zstd as others do.
 */
export async function clickHousePlace(server: BenchServer): Promise<Place> {
  const store = await openOwnClickHouse();
  const url = new URL(store.store.url);
  const door = await openClickHouseProxy(url.origin, { tls: false });
  const select = selectFor({ format: 'CSV', compression: null }, tables);
  let file = '';
  return {
    name: 'ClickHouse',
    own_name: 'one INSERT of a CSV file',
    aim: 0.8,
    prepare: async (team_id) => void (file = await writeBytes(server, select, team_id)),
    destination: async () => ({
      type: 'ClickHouse',
      config: {
        url: door.url,
        user: decodeURIComponent(url.username) || 'default',
        password: decodeURIComponent(url.password),
        table_name: 'ours',
      },
    }),
    own: async () => {
      await store.client.command({ query: 'CREATE TABLE own AS ours' });
      const ask = new URL(door.url);
      ask.searchParams.set(
        'query',
        `INSERT INTO own (${names.join(', ')}) FORMAT ${select.format}`,
      );
      ask.searchParams.set('date_time_input_format', 'best_effort');
      ask.searchParams.set('wait_end_of_query', '1');
      const send = async () => {
        const headers = { authorization: `Basic ${btoa(`${url.username}:${url.password}`)}` };
        const answer = await request(ask, {
          method: 'POST',
          headers,
          body: createReadStream(file),
        });
        const text = await answer.body.text();
        if (answer.statusCode !== 200) throw new Error(text);
      };
      return { loaded: await seconds(send) };
    },
    tidyUp: async () => {
      for (const table of ['own', 'ours'])
        await store.client.command({ query: `DROP TABLE ${table} SYNC` });
    },
    close: async () => {
      await door.close();
      await store.close();
    },
  };
}

/**
 * Compares with a script of a few lines that splits the answer of the source and posts the parts.
 */
export async function httpPlace({ clickhouse }: BenchServer): Promise<Place> {
  const child = fork(fileURLToPath(new URL('./http_taker.ts', import.meta.url)));
  const [url] = (await once(child, 'message')) as [string];
  const select = selectFor({ format: 'JSONLines', compression: null }, files);
  return {
    name: 'HTTP',
    own_name: 'a bare script',
    aim: 0.8,
    destination: async () => ({ type: 'HTTP', config: { url } }),
    own: async (team_id) => ({
      loaded: await seconds(async () => {
        const { stream } = await clickhouse.exec({
          query: `SELECT ${select.expressions} ${sourceOf(team_id)} FORMAT ${select.format}`,
          clickhouse_settings: select.settings,
        });
        await postLines(stream, url);
      }),
    }),
    tidyUp: async () => undefined,
    close: async () => child.disconnect(),
  };
}
