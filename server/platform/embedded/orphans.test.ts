import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createClient } from '@clickhouse/client';
import pg from 'pg';
import { silentLog } from '../log.ts';
import { openEmbeddedClickHouse } from './clickhouse/clickhouse.ts';
import { openEmbeddedPostgres } from './postgres/postgres.ts';
import {
  asOrdinaryUser,
  findPostgresPrograms,
  postgresEnvironment,
  prepareCluster,
} from './postgres/folder.ts';
import { findProcess } from './programs.ts';

const log = silentLog();

async function whenGone(pid: number, seconds: number): Promise<boolean> {
  const deadline = performance.now() + seconds * 1000;
  while (await findProcess(pid)) {
    if (performance.now() > deadline) return false;
    await pause(10);
  }
  return true;
}

async function startParent(
  root: string,
): Promise<{ kill(): void; stores: { url: string; pid: number }[] }> {
  const parent = spawn(
    process.execPath,
    [fileURLToPath(new URL('fixture_parent.ts', import.meta.url)), root],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string];
  return {
    kill: () => parent.kill('SIGKILL'),
    stores: JSON.parse(line) as { url: string; pid: number }[],
  };
}

test('when the parent is killed the stores go within 2 s, the next start finds all', async () => {
  const root = await mkdtemp(join(tmpdir(), 'sluice-orphans-'));
  const {
    kill,
    stores: [postgres, clickhouse],
  } = await startParent(root);
  assert.ok(postgres && clickhouse);
  const sql = new pg.Client({ connectionString: postgres.url });
  sql.on('error', () => {});
  await sql.connect();
  await sql.query('CREATE TABLE kept AS SELECT 1 AS n');
  const client = createClient({ url: clickhouse.url, log: { level: 127 } });
  await client.command({ query: 'CREATE TABLE kept (n UInt8) ENGINE = MergeTree ORDER BY n' });
  await client.insert({ table: 'kept', values: [{ n: 1 }], format: 'JSONEachRow' });
  const running = client
    .query({ query: 'SELECT count() FROM numbers(1000000000000)' })
    .catch(() => 'broken off');
  kill();
  assert.deepEqual(await Promise.all([whenGone(postgres.pid, 2), whenGone(clickhouse.pid, 2)]), [
    true,
    true,
  ]);
  assert.equal(await running, 'broken off');
  await client.close();

  const [nextPostgres, nextClickHouse] = await Promise.all([
    openEmbeddedPostgres({ folder: join(root, 'postgres'), log }),
    openEmbeddedClickHouse({ folder: join(root, 'clickhouse'), log }),
  ]);
  const pool = new pg.Pool({ connectionString: nextPostgres.url });
  assert.deepEqual((await pool.query('SELECT n FROM kept')).rows, [{ n: 1 }]);
  await pool.end();
  const next = createClient({ url: nextClickHouse.url });
  assert.deepEqual(
    await (await next.query({ query: 'SELECT n FROM kept', format: 'JSONEachRow' })).json(),
    [{ n: 1 }],
  );
  await next.close();
  await Promise.all([nextPostgres.stop(), nextClickHouse.stop()]);
  await rm(root, { recursive: true, force: true });
});

test('a postmaster that outlived its parent is stopped and a new one started', async () => {
  const root = await mkdtemp(join(tmpdir(), 'sluice-orphans-'));
  const folder = join(root, 'data');
  const [programs, words] = await Promise.all([findPostgresPrograms(), asOrdinaryUser()]);
  await prepareCluster(folder, programs, words);
  const command = [
    ...words,
    programs.postgres,
    '-D',
    folder,
    '-c',
    'listen_addresses=',
    '-c',
    `unix_socket_directories=${folder}`,
  ]
    .map((word) => `'${word}'`)
    .join(' ');
  // The shell ends at once and leaves the postmaster to nobody.
  const { stdout } = await promisify(execFile)(
    '/bin/sh',
    ['-c', `${command} >/dev/null 2>&1 & echo $!`],
    { env: postgresEnvironment },
  );
  const orphan = Number(stdout);
  const deadline = performance.now() + 10_000;
  while (!(await findProcess(orphan))?.command.includes('-D') && performance.now() < deadline)
    await pause(10);
  while (
    !(await access(join(folder, 'postmaster.pid')).then(
      () => true,
      () => false,
    )) &&
    performance.now() < deadline
  )
    await pause(10);
  const store = await openEmbeddedPostgres({ folder, log });
  assert.ok(await whenGone(orphan, 1));
  const client = new pg.Client({ connectionString: store.url });
  await client.connect();
  assert.deepEqual((await client.query('SELECT 1 AS n')).rows, [{ n: 1 }]);
  await client.end();
  await store.stop();
  await rm(root, { recursive: true, force: true });
});
