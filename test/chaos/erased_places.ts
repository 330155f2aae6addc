import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import mysql from 'mysql2';
import sql, { raw } from 'sql-template-tag';
import { openClickHouseProxy } from '../servers/databases/clickhouse_proxy.ts';
import { openMariaDb } from '../servers/databases/mariadb_server.ts';
import type { MariaDbServer } from '../servers/databases/mariadb_server.ts';
import type { Deployment } from './deployment.ts';

/**
 * The rows of a place, as a sum of their hashes in any order; `named` are the rows that contain a
 * text.
 */
export type PlaceContents = { rows: number; others: string; named: number };

/** A destination: its config, and the functions that read its contents. */
export type ErasedPlace = {
  name: string;
  destination: { type: string; config: Record<string, unknown> };
  model: 'events' | 'persons';
  read(needle: string): Promise<PlaceContents>;
};

/** The places of a campaign, one of each kind whose deliveries can be rewritten. */
export async function openErasedPlaces(
  deployment: Deployment,
  folder: string,
  clickhouse_url: string,
): Promise<{ places: ErasedPlace[]; close(): Promise<void> }> {
  const mariadb = await openMariaDb();
  const admin = await mariadb.admin();
  await admin.query('CREATE DATABASE warehouse');
  await admin.end();
  // It accepts compressed bodies, as a real server does.
  const door = await openClickHouseProxy(new URL(clickhouse_url).origin, { tls: false });
  await deployment.clickhouse.command({ query: 'CREATE DATABASE IF NOT EXISTS warehouse' });
  return {
    places: [
      filesAt('files', join(deployment.export_dir, 'erased'), 'events'),
      filesAt('files of persons', join(deployment.export_dir, 'erased-persons'), 'persons'),
      objectsAt(deployment, join(folder, 's3')),
      tableInPostgres(deployment, 'events'),
      tableInPostgres(deployment, 'persons'),
      tableInMySql(mariadb),
      tableInClickHouse(deployment, clickhouse_url, door.url),
    ],
    close: async () => {
      await door.close();
      await mariadb.close();
    },
  };
}

/** Adds up rows without an order: the text of each is hashed, and the hashes are added. */
function adder(needle: string): { add(row: string): void; contents(): PlaceContents } {
  let [rows, named, sum] = [0, 0, 0n];
  return {
    add: (row) => {
      if (row.includes(needle)) {
        named += 1;
        return;
      }
      rows += 1;
      const hash = createHash('sha256').update(row).digest();
      sum = (sum + hash.readBigUInt64LE()) % 2n ** 64n;
    },
    contents: () => ({ rows, named, others: sum.toString(16) }),
  };
}

function filesAt(name: string, root: string, model: ErasedPlace['model']): ErasedPlace {
  return {
    name,
    model,
    destination: { type: 'File', config: { prefix: root.split('/').at(-1)! } },
    read: (needle) => readLines(root, needle, (path) => path.endsWith('.jsonl')),
  };
}

function objectsAt({ s3_config }: Deployment, root: string): ErasedPlace {
  return {
    name: 'objects',
    model: 'events',
    destination: { type: 'S3', config: { ...s3_config, prefix: 'erased' } },
    // The store's facts about an object precede its bytes.
    read: (needle) => readLines(root, needle, (path) => path.includes('.jsonl'), 1),
  };
}

async function readLines(
  root: string,
  needle: string,
  isWanted: (path: string) => boolean,
  from_line = 0,
): Promise<PlaceContents> {
  const { add, contents } = adder(needle);
  for (const path of await listFiles(root)) {
    if (!isWanted(path)) continue;
    for (const line of (await readFile(path, 'utf8')).split('\n').slice(from_line))
      if (line !== '') add(line);
  }
  return contents();
}

function tableInPostgres(
  { postgres_config, warehouse }: Deployment,
  model: ErasedPlace['model'],
): ErasedPlace {
  const table_name = `erased_${model}`;
  return {
    name: `PostgreSQL, ${model}`,
    model,
    destination: { type: 'Postgres', config: { ...postgres_config, table_name } },
    // Summed at the source, because a million rows are too many for this process.
    read: async (needle) => {
      const is_named = sql`strpos(one::text, ${needle}) > 0`;
      const found = await warehouse.row<PlaceContents>(sql`
        SELECT count(*) FILTER (WHERE NOT ${is_named})::int AS rows,
          count(*) FILTER (WHERE ${is_named})::int AS named,
          coalesce(sum(hashtextextended(one::text, 0)::numeric) FILTER (WHERE NOT ${is_named}),
            0)::text AS others FROM ${raw(table_name)} one`);
      return found!;
    },
  };
}

function tableInMySql({ port, user, password }: MariaDbServer): ErasedPlace {
  const config = { host: '127.0.0.1', port, user, password, database: 'warehouse' };
  return {
    name: 'MariaDB',
    model: 'events',
    destination: {
      type: 'MySQL',
      config: { ...config, table_name: 'erased', has_self_signed_cert: true },
    },
    read: async (needle) => {
      const { add, contents } = adder(needle);
      const connection = mysql.createConnection({ ...config, dateStrings: true });
      for await (const row of connection.query('SELECT * FROM erased').stream())
        add(JSON.stringify(row));
      await connection.promise().end();
      return contents();
    },
  };
}

function tableInClickHouse({ clickhouse }: Deployment, address: string, url: string): ErasedPlace {
  const { username, password } = new URL(address);
  return {
    name: 'ClickHouse',
    model: 'events',
    destination: {
      type: 'ClickHouse',
      config: {
        url,
        database: 'warehouse',
        table_name: 'erased',
        ...(username === '' ? {} : { user: username, password: decodeURIComponent(password) }),
      },
    },
    read: async (needle) => {
      const { add, contents } = adder(needle);
      const result = await clickhouse.query({
        query: 'SELECT * FROM warehouse.erased',
        format: 'JSONEachRow',
      });
      for await (const rows of result.stream()) for (const row of rows) add(row.text);
      return contents();
    },
  };
}

/** All files below a folder, except files that disappear meanwhile. */
async function listFiles(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** The files below a folder whose bytes have the text. */
export async function searchBytes(root: string, text: string): Promise<string[]> {
  const hits: string[] = [];
  for (const path of await listFiles(root)) {
    let [rest, is_found] = ['', false];
    try {
      for await (const chunk of createReadStream(path, { highWaterMark: 4 * 1024 * 1024 })) {
        const read = rest + (chunk as Buffer).toString('latin1');
        is_found ||= read.includes(text);
        rest = read.slice(-text.length);
      }
    } catch (error) {
      if ((error as { code?: string }).code !== 'ENOENT') throw error;
    }
    if (is_found) hits.push(path.slice(root.length + 1));
  }
  return hits;
}
