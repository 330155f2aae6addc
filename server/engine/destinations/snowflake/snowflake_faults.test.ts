import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertFault } from '../../../../test/factories/batch_exports/deliveries.ts';
import type { Delivery } from '../../model/destination/destination.ts';
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

type Expected = { isRetryable: boolean; code: string };

/** Fails unless the delivery does with this error, which tells no secret. */
const fails = (given: Delivery, { isRetryable, code }: Expected, name: string) =>
  assert.rejects(deliver(given), (error) => {
    assertFault(error, isRetryable, code, `${name}: ${String(error)}`);
    const { message } = error as Error;
    assert.ok(!message.includes(server.password) && message.endsWith('.'), message);
    return true;
  });

for (const [name, fault, isRetryable, code] of [
  [
    'a key that is not the registered one',
    refusal('390144', '', 'JWT token is invalid. [0b9d]'),
    false,
    'authentication_failed',
  ],
  [
    'a network policy',
    refusal('390422', '', 'Incoming request with IP 1.2.3.4 is not allowed to access Snowflake.'),
    false,
    'authentication_failed',
  ],
  ['a host that is no account', { status: 404 }, false, 'not_snowflake'],
  ['too many requests', { status: 429 }, true, 'throttled'],
  ['a proxy that fails', { status: 502 }, true, 'server_fault'],
  ['a broken login', 'drop', true, 'connection_lost'],
] as const) {
  test(`${name} is ${code}, ${isRetryable ? 'tried again' : 'final'}, and unseen`, async () => {
    server.fail(/LOGIN/, fault, 2);
    await fails(delivery(), { isRetryable, code }, name);
    assert.equal(server.sessions(), 0);
  });
}

test('a refusal by the account has a name and shows nothing; the delivery ends whole', async () => {
  const given = delivery();
  for (const [name, pattern, fault, isRetryable, code] of [
    [
      'no right to create the table',
      /^CREATE TABLE/,
      refusal('003001', '42501', "Insufficient privileges to operate on schema 'S'"),
      false,
      'permission_denied',
    ],
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
        "Warehouse 'LOADING' cannot be resumed because resource monitor 'M' has exceeded its " +
          'quota.',
      ),
      true,
      'warehouse_unavailable',
    ],
    [
      'a table that another session creates',
      /^INSERT INTO "events"/,
      refusal('002002', '42710', "Object 'EVENTS' already exists."),
      true,
      'conflict',
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
    server.fail(pattern, fault, name === 'a storage that refuses' ? 100 : 2);
    await fails(given, { isRetryable, code }, name);
    server.recover();
    if (pattern.source !== '^CREATE TABLE') assert.equal(await count('events'), 0, name);
    await server.endSessions();
  }
  await deliver(given);
  assert.deepEqual([await count('events'), await count('sluice_receipts')], [1, 1]);
});

test('a passing fault goes unnoticed: an expired token, broken connections', async () => {
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
});
