import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { openTestStores } from '../../../test/harness_stores.ts';
import { accessTo, poolOf } from '../../../test/servers/databases/embedded_postgres.ts';
import { openTransactionPooler } from '../../../test/servers/databases/transaction_pooler.ts';
import { openCopySession } from './copy.ts';
import { openDatabase } from './database.ts';
import { requireOwnSessions } from './pooler.ts';

const stores = aroundTests(() => openTestStores({ clickhouse: false }));

test('sessions have their settings, whatever role and database say', async (t) => {
  const pool = poolOf(stores.database_url);
  const {
    rows: [{ name }],
  } = await pool.query('SELECT quote_ident(current_database()) AS name');
  for (const setting of [
    "timezone = 'Asia/Kolkata'",
    "DateStyle = 'German'",
    "IntervalStyle = 'iso_8601'",
    "bytea_output = 'escape'",
    "default_transaction_isolation = 'serializable'",
    "idle_in_transaction_session_timeout = '1s'",
  ])
    await pool.query(`ALTER DATABASE ${name} SET ${setting}`);
  await pool.end();
  const db = openDatabase(stores.database_url, { connections_max: 2, application_name: 'test' });
  t.after(() => db.close());
  const session = await openCopySession(stores.database_url, 'load');
  t.after(() => session.close());
  const query = `SELECT to_json(timestamptz '2026-11-29 04:00:14+00')::text AS instant,
    '2026-11-29'::date::text AS day, '\\x01'::bytea::text AS bytes, '1 day'::interval::text AS long,
    current_setting('transaction_isolation') AS isolation,
    current_setting('idle_in_transaction_session_timeout') AS idle`;
  const expected = {
    instant: '"2026-11-29T04:00:14+00:00"',
    day: '2026-11-29',
    bytes: '\\x01',
    long: '1 day',
    isolation: 'read committed',
  };
  assert.deepEqual((await db.text(query)).rows, [{ ...expected, idle: '2min' }]);
  assert.deepEqual(await session.rows(query), [{ ...expected, idle: '0' }]);
});

test('a pooler that mixes sessions is refused before anything is changed', async (t) => {
  await requireOwnSessions(stores.database_url);
  const pooler = await openTransactionPooler(stores.database_url);
  t.after(() => pooler.close());
  const { user, password, database } = accessTo(stores.database_url, pooler.port);
  const url = `postgres://${user}:${password}@127.0.0.1:${pooler.port}/${database}`;
  await assert.rejects(requireOwnSessions(url), {
    name: 'ControlStoreError',
    message: /pooler that mixes sessions\. Nothing was changed\. .*pool_mode = session/,
  });
});
