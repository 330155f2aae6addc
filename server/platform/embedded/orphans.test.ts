import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createClient } from '@clickhouse/client';
import pg from 'pg';
import { silentLog } from '../log.ts';
import { eventually } from '../../../test/eventually.ts';
import { openEmbeddedClickHouse } from './clickhouse/clickhouse.ts';
import { openEmbeddedPostgres } from './postgres/postgres.ts';
import { findPostgresPrograms, postgresEnvironment, prepareCluster } from './postgres/folder.ts';
import { asOrdinaryUser } from './postgres/ordinary_user.ts';
import { findProcess } from './programs.ts';

const log = silentLog();

/** The folder of all tests; later tests find the cluster that earlier ones created. */
let root: string;
before(async () => {
  root = await mkdtemp(join(tmpdir(), 'sluice-orphans-'));
});
after(() => rm(root, { recursive: true, force: true }));

const untilGone = (pid: number) =>
  eventually(`${pid} is still there`, async () => (await findProcess(pid)) === undefined);

async function startParent(
  root: string,
): Promise<{ kill(): void; stores: { url: string; pid: number }[] }> {
  const parent = spawn(
    process.execPath,
    [fileURLToPath(new URL('../../../test/processes/embedded_parent.ts', import.meta.url)), root],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string];
  return {
    kill: () => parent.kill('SIGKILL'),
    stores: JSON.parse(line) as { url: string; pid: number }[],
  };
}

test('when the parent is killed the stores go, and the next start finds all', async () => {
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
  await Promise.all([untilGone(postgres.pid), untilGone(clickhouse.pid)]);
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
});

test('a postmaster that outlived its parent is stopped and a new one started', async () => {
  const folder = join(root, 'postgres');
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
  await eventually(
    'the postmaster does not start',
    async () =>
      (await findProcess(orphan))?.command.includes('-D') &&
      existsSync(join(folder, 'postmaster.pid')),
  );
  const store = await openEmbeddedPostgres({ folder, log });
  await untilGone(orphan);
  const client = new pg.Client({ connectionString: store.url });
  await client.connect();
  assert.deepEqual((await client.query('SELECT 1 AS n')).rows, [{ n: 1 }]);
  await client.end();
  await store.stop();
});
