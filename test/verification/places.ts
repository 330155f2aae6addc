// Length: the places and what can be changed there, which only differ in their words.
import { randomUUID } from 'node:crypto';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { createClient } from '@clickhouse/client';
import { identifier } from '../../server/engine/destinations/formats/expression.ts';
import { sdk } from '../../server/engine/destinations/object_store/s3_client.ts';
import type { Random } from '../chaos/random.ts';
import type { QueryHarness } from '../factories/batch_exports/query_exports.ts';
import { openClickHouseProxy } from '../servers/databases/clickhouse_proxy.ts';
import { mariaDbMissing, openMariaDb } from '../servers/databases/mariadb_server.ts';
import { openMySqlProxy } from '../servers/databases/mysql_proxy.ts';
import { openPostgresServer } from '../servers/databases/postgres_destination.ts';
import { startMoto, without_moto } from '../servers/moto.ts';

/** A foreign change: the kind of its finding, and the delivery. */
export type Planted = {
  change: string;
  kind: string;
  /**
   * The start of its data interval, or the end of its id; null for rows and files of no delivery.
   */
  of: string | null;
};

/** A destination of an export. */
export type LookedPlace = {
  name: string;
  destination: { type: string; config: Record<string, unknown> };
  /** Makes one change in each of these hours. */
  plant(random: Random, hours: number[]): Promise<Planted[]>;
  /** Undoes all changes. */
  restore(): Promise<void>;
  /** Does what a place does to its rows on its own, or what an operator does. */
  keepHouse(): Promise<void>;
  /** Changes the config so that nothing answers there; undefined if the place is this server. */
  away?: Record<string, unknown>;
  /** Removes everything, for the next export. */
  empty(): Promise<void>;
  /** Removes a column of the table; undefined without columns. */
  dropColumn?(): Promise<void>;
  close(): Promise<void>;
};

/** Rows of an hour; each has its own name. */
export const rows_an_hour = 6;

/** Returns the name of an event, by its hour and number. */
export const nameOf = (hour: number, n: number) => `h${hour}n${n}`;

const first_hour = Date.parse('2026-01-01T00:00:00Z');
const startOf = (hour: number) => new Date(first_hour + hour * 3_600_000).toISOString();

type Statements = {
  run(statement: string): Promise<unknown>;
  table: string;
  new_uuid: string;
  update(set: string, where: string): string;
  copy: string[];
  house: string[];
};

/** A table, whose rows are changed by statements. */
function tablePlace(
  name: string,
  destination: LookedPlace['destination'],
  { run, table, new_uuid, update, copy, house }: Statements,
): Omit<LookedPlace, 'close' | 'away'> {
  let is_copied = false;
  const columns = 'event, properties, distinct_id, team_id, timestamp, inserted_at';
  const changes: Record<string, (where: string) => string> = {
    'a deleted row': (where) => `DELETE FROM ${table} WHERE ${where}`,
    'a changed value': (where) => update(`distinct_id = 'planted'`, where),
    'a changed JSON': (where) => update(`properties = '{"planted": 1}'`, where),
    'a doubled row': (where) => `INSERT INTO ${table} SELECT * FROM ${table} WHERE ${where}`,
    'a foreign row': (where) =>
      `INSERT INTO ${table} (uuid, ${columns}) SELECT ${new_uuid}, ${columns} FROM ${table}
        WHERE ${where}`,
  };
  const kinds: Record<string, string> = {
    'a deleted row': 'missing',
    'a changed value': 'changed',
    'a changed JSON': 'changed',
    'a doubled row': 'doubled',
    'a foreign row': 'foreign',
  };
  return {
    name,
    destination,
    plant: async (random, hours) => {
      if (!is_copied) for (const statement of copy) await run(statement);
      is_copied = true;
      const chosen = hours.map((hour) => ({
        change: random.one(Object.keys(changes)),
        event: nameOf(hour, random.between(0, rows_an_hour - 1)),
        hour,
      }));
      for (const [change, of_change] of Map.groupBy(chosen, (one) => one.change)) {
        const names = of_change.map(({ event }) => `'${event}'`).join(', ');
        await run(changes[change]!(`event IN (${names})`));
      }
      return chosen.map(({ change, hour }) => ({
        change,
        kind: kinds[change]!,
        of: change === 'a foreign row' ? null : startOf(hour),
      }));
    },
    restore: async () => {
      await run(`TRUNCATE TABLE ${table}`);
      await run(`INSERT INTO ${table} SELECT * FROM ${table}_copy`);
    },
    keepHouse: async () => {
      for (const statement of house) await run(statement);
    },
    empty: async () => {
      for (const one of [table, `${table}_copy`, table.replace(/events$/, 'sluice_receipts')])
        await run(`DROP TABLE IF EXISTS ${one}`);
      is_copied = false;
    },
    dropColumn: async () => void (await run(`ALTER TABLE ${table} DROP COLUMN elements`)),
  };
}

async function postgresPlace(): Promise<LookedPlace> {
  const server = await openPostgresServer();
  const config = await server.freshConfig();
  const table = `${config.schema}.events`;
  const place = tablePlace(
    'PostgreSQL',
    { type: 'Postgres', config },
    {
      run: (statement) => server.pool.query(statement),
      table,
      new_uuid: 'gen_random_uuid()',
      update: (set, where) => `UPDATE ${table} SET ${set} WHERE ${where}`,
      copy: [`CREATE TABLE ${table}_copy AS SELECT * FROM ${table}`],
      house: [`VACUUM FULL ${table}`, `ANALYZE ${table}`, `REINDEX TABLE ${table}`],
    },
  );
  return { ...place, away: { port: 1 }, close: () => server.close() };
}

async function mySqlPlace(): Promise<LookedPlace | undefined> {
  if (mariaDbMissing !== undefined) return undefined;
  const server = await openMariaDb();
  const door = await openMySqlProxy(server.port, { tls: false });
  const admin = await server.admin();
  await admin.query('CREATE DATABASE warehouse');
  const { user, password } = server;
  const at = { host: '127.0.0.1', port: door.port, database: 'warehouse', table_name: 'events' };
  const table = 'warehouse.events';
  const place = tablePlace(
    'MariaDB',
    { type: 'MySQL', config: { ...at, user, password, require_tls: false } },
    {
      run: (statement) => admin.query(statement),
      table,
      new_uuid: 'uuid()',
      update: (set, where) => `UPDATE ${table} SET ${set} WHERE ${where}`,
      copy: [`CREATE TABLE ${table}_copy AS SELECT * FROM ${table}`],
      house: [`OPTIMIZE TABLE ${table}`, `ANALYZE TABLE ${table}`],
    },
  );
  return {
    ...place,
    away: { port: 1 },
    close: async () => {
      await admin.end();
      await door.close();
      await server.close();
    },
  };
}

async function clickHousePlace({ harness }: QueryHarness): Promise<LookedPlace> {
  const server = new URL(harness.stores.clickhouse_url);
  const client = createClient({ url: harness.stores.clickhouse_url, log: { level: 127 } });
  const door = await openClickHouseProxy(server.origin, { tls: true });
  const database = `${server.pathname.slice(1)}_looked`;
  await client.command({ query: `CREATE DATABASE ${identifier(database)}` });
  const access = { user: server.username, password: decodeURIComponent(server.password) };
  const config = { ...access, url: door.url, database, has_self_signed_cert: true };
  const table = `${identifier(database)}.events`;
  const place = tablePlace(
    'ClickHouse',
    { type: 'ClickHouse', config: { ...config, table_name: 'events' } },
    {
      run: (query) => client.command({ query, clickhouse_settings: { mutations_sync: '2' } }),
      table,
      new_uuid: 'generateUUIDv4()',
      update: (set, where) => `ALTER TABLE ${table} UPDATE ${set} WHERE ${where}`,
      copy: [
        `CREATE TABLE ${table}_copy AS ${table}`,
        `INSERT INTO ${table}_copy SELECT * FROM ${table}`,
      ],
      house: [`OPTIMIZE TABLE ${table} FINAL`],
    },
  );
  return {
    ...place,
    away: { url: 'https://127.0.0.1:1' },
    close: async () => {
      await client.command({ query: `DROP DATABASE ${identifier(database)} SYNC` });
      await client.close();
      await door.close();
    },
  };
}

/** Files by their names, which another writer reads, writes and removes. */
type Files = {
  list(): Promise<string[]>;
  read(name: string): Promise<Buffer>;
  write(name: string, bytes: Buffer): Promise<unknown>;
  remove(name: string): Promise<unknown>;
};

const deliveryIn = (name: string) => /([0-9a-f]{12})-\d{4,}\.[a-z]/.exec(name)?.[1];

/** Files, one for each delivery; `folder`, if set, also gets foreign files. */
function filePlace(
  name: string,
  destination: LookedPlace['destination'],
  files: Files,
  folder: string | undefined,
): Omit<LookedPlace, 'close'> {
  const before = new Map<string, Buffer>();
  const added: string[] = [];
  const flip = (bytes: Buffer, at: number) => {
    const flipped = Buffer.from(bytes);
    flipped[at] = flipped[at]! ^ 1;
    return flipped;
  };
  return {
    name,
    destination,
    plant: async (random, hours) => {
      const names = (await files.list()).filter((one) => deliveryIn(one) !== undefined).toSorted();
      const planted: Planted[] = [];
      for (const one of names.slice(0, hours.length)) {
        const bytes = await files.read(one);
        before.set(one, bytes);
        const change = random.one(['a flipped byte', 'a lost file', 'a shortened file'] as const);
        if (change === 'a lost file') await files.remove(one);
        else if (change === 'a flipped byte')
          await files.write(one, flip(bytes, random.between(0, bytes.length - 1)));
        else await files.write(one, bytes.subarray(0, bytes.length - 1));
        const kind = change === 'a lost file' ? 'missing' : 'changed';
        planted.push({ change, kind, of: deliveryIn(one)! });
      }
      if (folder !== undefined) {
        added.push(`${folder}/${randomUUID()}.jsonl`);
        await files.write(added.at(-1)!, Buffer.from('{}\n'));
        planted.push({ change: 'a foreign file', kind: 'foreign', of: null });
      }
      return planted;
    },
    restore: async () => {
      for (const [one, bytes] of before) await files.write(one, bytes);
      for (const one of added.splice(0)) await files.remove(one);
      before.clear();
    },
    keepHouse: async () => undefined,
    empty: async () => {
      for (const one of await files.list()) await files.remove(one);
    },
  };
}

function filesBelow(root: string, end: string): Files {
  return {
    list: async () =>
      (await readdir(root, { recursive: true })).filter((name) => name.endsWith(end)),
    read: (name) => readFile(join(root, name)),
    write: (name, bytes) => writeFile(join(root, name), bytes),
    remove: (name) => rm(join(root, name)),
  };
}

async function localPlace({ folder }: QueryHarness): Promise<LookedPlace> {
  const prefix = `looked-${randomUUID()}`;
  const files = filesBelow(join(folder, prefix), '.jsonl');
  const place = filePlace('File', { type: 'File', config: { prefix } }, files, '.');
  return { ...place, close: async () => undefined };
}

async function lakePlace(
  { folder }: QueryHarness,
  type: 'Iceberg' | 'Delta',
): Promise<LookedPlace> {
  const table = `looked_${randomUUID().slice(0, 8)}`;
  const root = join(folder, type === 'Iceberg' ? 'lake' : 'delta');
  const all = filesBelow(root, '.parquet');
  const files = {
    ...all,
    list: async () => (await all.list()).filter((one) => one.includes(table)),
  };
  const destination = { type, config: { storage: 'File', table } };
  return { ...filePlace(type, destination, files, undefined), close: async () => undefined };
}

async function s3Place(): Promise<LookedPlace | undefined> {
  if (without_moto !== false) return undefined;
  const moto = await startMoto();
  const bucket = { Bucket: 'looked' };
  const client = new (sdk().S3Client)({
    endpoint: moto.endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'testing', secretAccessKey: 'testing' },
  });
  await client.send(new (sdk().CreateBucketCommand)(bucket));
  const files: Files = {
    list: async () => {
      const { Contents } = await client.send(new (sdk().ListObjectsV2Command)(bucket));
      return (Contents ?? []).map(({ Key }) => Key!).filter((key) => key.endsWith('.jsonl'));
    },
    read: async (Key) => {
      const { Body } = await client.send(new (sdk().GetObjectCommand)({ ...bucket, Key }));
      return buffer(Body as Readable);
    },
    write: (Key, Body) => client.send(new (sdk().PutObjectCommand)({ ...bucket, Key, Body })),
    remove: (Key) => client.send(new (sdk().DeleteObjectCommand)({ ...bucket, Key })),
  };
  const config = {
    bucket_name: 'looked',
    region: 'us-east-1',
    prefix: 'a',
    endpoint_url: moto.endpoint,
    aws_access_key_id: 'testing',
    aws_secret_access_key: 'testing',
  };
  return {
    ...filePlace('S3', { type: 'S3', config }, files, 'a'),
    away: { endpoint_url: 'http://127.0.0.1:1' },
    close: async () => {
      client.destroy();
      await moto.close();
    },
  };
}

/** Openers of places by their names; undefined if a place cannot run here. */
export const openers: Record<
  string,
  (exporting: QueryHarness) => Promise<LookedPlace | undefined>
> = {
  File: localPlace,
  S3: s3Place,
  PostgreSQL: postgresPlace,
  MariaDB: mySqlPlace,
  ClickHouse: clickHousePlace,
  Iceberg: (exporting) => lakePlace(exporting, 'Iceberg'),
  Delta: (exporting) => lakePlace(exporting, 'Delta'),
};
