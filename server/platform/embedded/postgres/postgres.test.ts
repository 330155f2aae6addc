import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { inDepth } from '../../../../test/depth.ts';
import { eventually } from '../../../../test/eventually.ts';
import { silentLog } from '../../log.ts';
import { readStandbys } from '../../postgres/control_store.ts';
import { openDatabase } from '../../postgres/database.ts';
import { StoreAwayError } from '../../store_away.ts';
import { openEmbeddedPostgres } from './postgres.ts';
import type { EmbeddedStore } from '../supervise.ts';

const log = silentLog();

function openPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  pool.on('error', () => {});
  return pool;
}

describe('embedded PostgreSQL', () => {
  let root: string;
  let folder: string;
  let store: EmbeddedStore;
  let pool: pg.Pool;

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'sluice-postgres-'));
    // Too long a path for a socket, and a creation that was cut off there.
    folder = join(root, 'long'.repeat(30), 'data');
    await mkdir(join(`${folder}.new`, 'base'), { recursive: true });
    await writeFile(join(`${folder}.new`, 'PG_VERSION'), '18\n');
    store = await openEmbeddedPostgres({ folder, log });
    pool = openPool(store.url);
    await pool.query('CREATE TABLE written (n int PRIMARY KEY)');
  });

  after(async () => {
    await pool.end();
    await store.stop();
    await rm(root, { recursive: true, force: true });
  });

  test('is a PostgreSQL 18 with the settings of an embedded one', async () => {
    const { rows } = await pool.query<
      Record<string, string>
    >(`SELECT current_setting('server_version_num')::int / 10000 AS major,
      current_setting('server_encoding') AS encoding,
      current_setting('TimeZone') AS zone, current_setting('random_page_cost') AS page_cost,
        current_setting('fsync') AS fsync, current_setting('listen_addresses') AS addresses,
      current_database() AS database, lower('ÄÖ') AS lower, 'a' > 'B' AS by_code_point`);
    assert.deepEqual(rows, [
      {
        major: 18,
        encoding: 'UTF8',
        zone: 'UTC',
        page_cost: '1.1',
        fsync: 'on',
        addresses: '',
        database: 'sluice',
        lower: 'äö',
        by_code_point: true,
      },
    ]);
  });

  test('keeps its password to itself and refuses another one', async () => {
    assert.equal((await stat(join(folder, 'sluice_password'))).mode & 0o777, 0o600);
    const wrong = store.url.replace(/:[0-9a-f]+@/, ':wrong@');
    await assert.rejects(new pg.Client({ connectionString: wrong }).connect(), { code: '28P01' });
  });

  test('a second opening of the folder is refused with a sentence', async () => {
    await assert.rejects(openEmbeddedPostgres({ folder, log }), /in use by another running server/);
  });

  test('after kill -9 it comes back on the same URL with everything acknowledged', async () => {
    for (let round = 0; round < inDepth(1, 3); round++) {
      const acknowledged: number[] = [];
      const first = store.pid;
      assert.ok(first);
      let n = round * 1_000_000;
      const writers = Array.from({ length: 4 }, async () => {
        for (;;) {
          const mine = n++;
          await pool.query('INSERT INTO written VALUES ($1)', [mine]);
          acknowledged.push(mine);
          if (acknowledged.length === 200) process.kill(first, 'SIGKILL');
        }
      });
      await Promise.allSettled(writers);
      const { rows } = await eventually('PostgreSQL is not back', () =>
        pool
          .query<{ count: number }>(
            'SELECT count(*)::int AS count FROM written WHERE n = ANY($1)',
            [acknowledged],
          )
          .catch(() => undefined),
      );
      assert.equal(rows[0]?.count, acknowledged.length);
      assert.ok(acknowledged.length >= 200);
      await eventually(
        'nobody knows the new process',
        () => store.pid !== undefined && store.pid !== first,
      );
    }
  });

  test('a commit that no longer waits for its standby is no answer', async () => {
    const db = openDatabase(store.url, { connections_max: 2, application_name: 'sluice-test' });
    const wait = async (names: string) => {
      await pool.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
      await pool.query('SELECT pg_reload_conf()');
      // It is the checkpointer that makes commits wait, once the postmaster has told it.
      await eventually('the setting is not read', async () => {
        const { rows } = await pool.query(`SELECT current_setting('synchronous_standby_names') s`);
        return rows[0]?.s === names;
      });
      await pool.query('CHECKPOINT');
    };
    const letGo = () =>
      eventually('the commit does not wait', async () => {
        const { rowCount } = await pool.query(`SELECT pg_cancel_backend(pid) FROM pg_stat_activity
          WHERE wait_event = 'SyncRep'`);
        return rowCount === 1;
      });
    await wait('nobody');
    try {
      const alone = db.text('INSERT INTO written VALUES (-1)');
      await Promise.all([assert.rejects(alone, StoreAwayError), letGo()]);
      const within = db.transaction((tx) => tx.text('INSERT INTO written VALUES (-2)'));
      await Promise.all([assert.rejects(within, StoreAwayError), letGo()]);
      // They are there, and were not answered.
      const { rows } = await db.text('SELECT n FROM written WHERE n < 0');
      assert.equal(rows.length, 2);
      assert.equal((await readStandbys(db)).present, 0);
    } finally {
      await wait('');
      await db.close();
    }
  });

  const anew =
    'a folder whose creation was cut off was created anew, also in too long a path; it stops in ' +
    'order and starts again with its data';
  test(anew, async () => {
    await pool.query('CREATE TABLE kept AS SELECT 1 AS n');
    await pool.end();
    await store.stop();
    assert.equal(store.pid, undefined);
    assert.match(
      await readFile(join(folder, 'postgres.log'), 'utf8'),
      /database system is shut down/,
    );
    store = await openEmbeddedPostgres({ folder, log });
    pool = openPool(store.url);
    assert.deepEqual((await pool.query('SELECT n FROM kept')).rows, [{ n: 1 }]);
  });
});
