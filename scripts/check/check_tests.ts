import { existsSync, globSync } from 'node:fs';
import { mkdir, mkdtemp, rm, statfs } from 'node:fs/promises';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { openEmbeddedClickHouse } from '../../server/platform/embedded/clickhouse/clickhouse.ts';
import { openEmbeddedPostgres } from '../../server/platform/embedded/postgres/postgres.ts';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import { openLog } from '../../server/platform/log.ts';
import { openDatabase } from '../../server/platform/postgres/database.ts';
import {
  migrateAsStarted,
  migrateClickHouseAsStarted,
  withDatabase,
} from '../../test/harness_stores.ts';
import { root } from '../child.ts';

const template_database = 'migrated';
/**
 * A folder in memory, on Linux. A database is copied into it in a third of the time. The more files
 * were removed from ext4 in the last minute, the longer it searches for space for a new one.
 */
const memory_folder = '/dev/shm';
const memory_bytes_min = 4 * 1024 ** 3;

/**
 * Two running stores, and the environment in which test/harness.ts uses them; `close` stops them
 * and removes their data.
 */
export type TestStores = { environment: Record<string, string>; close(): Promise<void> };

/**
 * Returns the test files whose path contains one of the patterns, or all without a pattern, as
 * paths from the repository's folder: first those of `test/`, then those of `server/` and
 * `console/`.
 */
export function listTestFiles(patterns: string[]): string[] {
  const files = ['test', 'server', 'console'].flatMap((folder) =>
    globSync(`${folder}/**/*.test.ts`, { cwd: root }).sort(),
  );
  const wanted = patterns.map((pattern) => pattern.replace(/^\.\//, ''));
  return wanted.length === 0
    ? files
    : files.filter((file) => wanted.some((pattern) => file.includes(pattern)));
}

/**
 * Starts both stores on empty folders. If they are in memory, so are the files that tests write. If
 * one store does not start, the other is stopped and the error is thrown.
 */
export async function openTestStores(): Promise<TestStores> {
  const folder = await newFolder();
  const log = openLog('error');
  const opened = await Promise.allSettled([
    openEmbeddedPostgres({ folder: join(folder, 'postgres'), log }),
    openEmbeddedClickHouse({ folder: join(folder, 'clickhouse'), log }),
  ]);
  const close = async () => {
    const running = opened.flatMap((store) => (store.status === 'fulfilled' ? [store.value] : []));
    await Promise.allSettled(running.map((store) => store.stop()));
    await rm(folder, { recursive: true, force: true });
  };
  const [postgres, clickhouse] = opened;
  if (postgres.status === 'fulfilled' && clickhouse.status === 'fulfilled') {
    try {
      await prepare(postgres.value.url);
      await prepareClickHouse(clickhouse.value.url);
    } catch (error) {
      await close();
      throw error;
    }
    const temporary = join(folder, 'tmp');
    await mkdir(temporary);
    const environment = {
      ...(folder.startsWith(memory_folder) ? { TMPDIR: temporary } : {}),
      SLUICE_TEST_DATABASE_URL: postgres.value.url,
      SLUICE_TEST_DATABASE_TEMPLATE: template_database,
      SLUICE_TEST_CLICKHOUSE_URL: clickhouse.value.url,
      SLUICE_TEST_CLICKHOUSE_TEMPLATE: template_database,
    };
    return { environment, close };
  }
  await close();
  throw opened.find((store) => store.status === 'rejected')?.reason;
}

/**
 * Creates a folder for the data of this process's stores: in memory if the machine has plenty.
 * Removes folders that a killed process left there first.
 */
async function newFolder(): Promise<string> {
  const name = 'sluice-stores-';
  if (process.platform !== 'linux') return mkdtemp(join(tmpdir(), name));
  const { bavail, bsize } = await statfs(memory_folder).catch(() => ({ bavail: 0, bsize: 0 }));
  if (Math.min(bavail * bsize, freemem()) < memory_bytes_min) return mkdtemp(join(tmpdir(), name));
  for (const left of globSync(`${name}*`, { cwd: memory_folder }))
    if (!existsSync(`/proc/${left.slice(name.length).split('-')[0]}`))
      await rm(join(memory_folder, left), { recursive: true, force: true });
  return mkdtemp(join(memory_folder, `${name}${process.pid}-`));
}

/**
 * Migrates the database that test files copy, and lets the server not wait for the disk, because
 * its data are temporary. A connection plans a statement once. By default, PostgreSQL plans it
 * again the first five times, which few connections of a test live to repeat.
 */
async function prepare(url: string): Promise<void> {
  const server = openDatabase(url, { connections_max: 1, application_name: 'sluice-check' });
  try {
    for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes'])
      await server.text(`ALTER SYSTEM SET ${setting} = off`);
    await server.text('ALTER SYSTEM SET plan_cache_mode = force_generic_plan');
    await server.text('SELECT pg_reload_conf()');
    await server.text(`CREATE DATABASE ${template_database}`);
  } finally {
    await server.close();
  }
  const db = openDatabase(withDatabase(url, template_database), {
    connections_max: 1,
    application_name: 'sluice-check',
  });
  await migrateAsStarted(db).finally(() => db.close());
}

/** Migrates the database of ClickHouse whose tables test files copy. */
async function prepareClickHouse(url: string): Promise<void> {
  const server = openClickHouse(url, { application: 'sluice-check' });
  await server.command({ query: `CREATE DATABASE ${template_database}` });
  await server.close();
  await migrateClickHouseAsStarted(withDatabase(url, template_database));
}
