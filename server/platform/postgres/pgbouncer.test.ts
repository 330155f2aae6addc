import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { openTestStores } from '../../../test/harness_stores.ts';
import { poolOf } from '../../../test/servers/databases/embedded_postgres.ts';
import { openPgBouncer, pgBouncerMissing } from '../../../test/servers/databases/pgbouncer.ts';
import { openCopySession } from './copy.ts';
import { openDatabase } from './database.ts';
import { requireOwnSessions } from './pooler.ts';

const stores = aroundTests(() => openTestStores({ clickhouse: false }));

for (const pool_mode of ['transaction', 'statement'] as const)
  test(
    `PgBouncer in ${pool_mode} mode is refused by name`,
    { skip: pgBouncerMissing },
    async (t) => {
      const pooler = await openPgBouncer(stores.database_url, pool_mode);
      t.after(() => pooler.close());
      await assert.rejects(requireOwnSessions(pooler.url), {
        name: 'ControlStoreError',
        message: /pooler that mixes sessions\. Nothing was changed\. .*pool_mode = session/,
      });
    },
  );

test('PgBouncer in session mode keeps settings', { skip: pgBouncerMissing }, async (t) => {
  const pool = poolOf(stores.database_url);
  t.after(() => pool.end());
  const {
    rows: [{ name }],
  } = await pool.query('SELECT quote_ident(current_database()) AS name');
  for (const setting of ["timezone = 'Asia/Kolkata'", "DateStyle = 'German'"])
    await pool.query(`ALTER DATABASE ${name} SET ${setting}`);
  const pooler = await openPgBouncer(stores.database_url, 'session');
  t.after(() => pooler.close());
  await requireOwnSessions(pooler.url);
  const db = openDatabase(pooler.url, { connections_max: 2, application_name: 'test' });
  t.after(() => db.close());
  const session = await openCopySession(pooler.url, 'load');
  t.after(() => session.close());
  const query = `SELECT to_json(timestamptz '2026-11-29 04:00:14+00')::text AS instant,
    '2026-11-29'::date::text AS day`;
  const expected = [{ instant: '"2026-11-29T04:00:14+00:00"', day: '2026-11-29' }];
  assert.deepEqual((await db.text(query)).rows, expected);
  assert.deepEqual(await session.rows(query), expected);
});
