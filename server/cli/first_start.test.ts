import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { openHarness } from '../../test/harness.ts';
import { openClickHouse } from '../platform/clickhouse/client.ts';
import { isPassword } from '../platform/passwords/password.ts';
import { firstStart } from './first_start.ts';
import { waitForStores } from './stores/wait_for_stores.ts';
import { aroundTests } from '../../test/around_tests.ts';
import { listen, urlOf } from '../../test/servers/loopback.ts';

const harness = aroundTests(() => openHarness({ clickhouse: false }));

test('one of three processes that start at once creates the owner, who gets in', async () => {
  const created = (
    await Promise.all(Array.from({ length: 3 }, () => firstStart(harness.deps)))
  ).filter((start) => start !== undefined);
  assert.equal(created.length, 1);
  const [start] = created;
  assert.equal(start!.email, 'owner@example.com');
  const { body } = await harness.request('GET', '/api/organizations/', { key: start!.api_key });
  assert.equal(body.count, 1);
  assert.deepEqual(
    [body.results[0].name, body.results[0].membership_level, body.results[0].teams[0].name],
    ['My organization', 15, 'Default project'],
  );
  assert.equal(body.results[0].plugins_access_level, 9);
  const user = await harness.deps.db.row<{ password_hash: string }>(
    sql`SELECT password_hash FROM users`,
  );
  assert.ok(await isPassword(start!.password!, user!.password_hash));
  assert.equal(await firstStart(harness.deps), undefined);
});

test('a store that falls silent does not keep a process starting for ever', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket.on('error', () => undefined)));
  await listen(silent);
  const clickhouse = openClickHouse(urlOf(silent), {
    application: 'test',
  });
  try {
    const refusal = {
      name: 'UserError',
      message: /^ClickHouse \(SLUICE_CLICKHOUSE_URL\) cannot be used: it takes the question/,
    };
    const { database_url } = harness.stores;
    await assert.rejects(
      waitForStores({ db: harness.deps.db, database_url, clickhouse }, harness.deps.log, 200),
      refusal,
    );
  } finally {
    for (const socket of sockets) socket.destroy();
    await clickhouse.close();
    silent.close();
  }
});
