import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NonRetryableError, RetryableError } from '../../destination/errors.ts';
import {
  openAroundTests,
  server,
  delivery,
  open,
  write,
  commit,
  deliver,
  count,
  refusal,
} from '../../../../test/destinations/snowflake_faults_world.ts';

openAroundTests();

for (const [name, pattern, fault, isRetryable, code] of [
  [
    'a key that is not the registered one',
    /LOGIN/,
    refusal('390144', '', 'JWT token is invalid. [0b9d]'),
    false,
    'authentication_failed',
  ],
  [
    'a network policy',
    /LOGIN/,
    refusal('390422', '', 'Incoming request with IP 1.2.3.4 is not allowed to access Snowflake.'),
    false,
    'authentication_failed',
  ],
  ['a host that is no account', /LOGIN/, { status: 404 }, false, 'not_snowflake'],
  ['too many requests', /LOGIN/, { status: 429 }, true, 'throttled'],
  ['a proxy that fails', /LOGIN/, { status: 502 }, true, 'server_fault'],
  ['a broken login', /LOGIN/, 'drop', true, 'connection_lost'],
  [
    'a warehouse that is suspended',
    /^COPY/,
    refusal('000606', '57P03', 'No active warehouse selected in the current session.'),
    true,
    'warehouse_unavailable',
  ],
  [
    'a quota that is used up',
    /^COPY/,
    refusal(
      '90073',
      '57014',
      "Warehouse 'LOADING' cannot be resumed because resource monitor 'M' has exceeded its quota.",
    ),
    true,
    'warehouse_unavailable',
  ],
  [
    'no right to make the table',
    /^CREATE TABLE/,
    refusal('003001', '42501', "Insufficient privileges to operate on schema 'S'"),
    false,
    'permission_denied',
  ],
  [
    'a table that went away',
    /^INSERT INTO "events"/,
    refusal('002003', '42S02', "Table 'EVENTS' does not exist or not authorized."),
    false,
    'table_missing',
  ],
  [
    'a lock that is not released',
    /^UPDATE/,
    refusal('000625', '57014', 'Statement was aborted because the lock was not released.'),
    true,
    'locked',
  ],
  [
    'a statement that was cancelled',
    /^MERGE|^INSERT INTO "events"/,
    refusal('000604', '57014', 'SQL execution canceled'),
    true,
    'cancelled_by_server',
  ],
  [
    'a fault without a name',
    /^COPY/,
    refusal('300002', 'XX000', 'Processing aborted by error 300002'),
    true,
    'server_fault',
  ],
  [
    'a session that is gone',
    /^COPY/,
    refusal('390111', '', 'Session no longer exists.'),
    true,
    'connection_lost',
  ],
  ['a storage that refuses', /UPLOAD/, { status: 403 }, true, 'store_fault'],
] as const) {
  test(`${name} is ${code}, ${isRetryable ? 'tried again' : 'final'}, and unseen`, async () => {
    server.fail(pattern, fault, name === 'a storage that refuses' ? 100 : 2);
    const given = delivery();
    await assert.rejects(deliver(given), (error) => {
      assert.ok(
        isRetryable ? error instanceof RetryableError : error instanceof NonRetryableError,
        String(error),
      );
      assert.equal((error as RetryableError).code, code, (error as Error).message);
      assert.ok(
        !(error as Error).message.includes(server.password) &&
          (error as Error).message.endsWith('.'),
      );
      return true;
    });
    server.recover();
    await deliver(given);
    assert.deepEqual([await count('events'), await count('sluice_receipts')], [1, 1]);
    await server.endSessions();
  });
}

test(
  'what passes by itself is not noticed: a token that ends, an upload and a statement whose ' +
    'connections break',
  async () => {
    const sink = await open(delivery());
    assert.equal(server.sessions(), 1);
    server.expireTokens();
    server.fail(/UPLOAD/, 'drop');
    server.fail(/^COPY/, 'after');
    await write(sink);
    await commit(sink);
    await sink.close();
    assert.equal(await count('events'), 1);
    // Signed out, so what is temporary is gone.
    assert.equal(server.sessions(), 0);
  },
);
