import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { newExport } from '../../../test/factories/batch_exports/batch_exports.ts';
import { completed, endedRun, failed } from '../../../test/factories/batch_exports/ended_runs.ts';
import type { Answer } from '../../../test/servers/http_receiver.ts';
import {
  claimOne,
  deliveriesOf,
  webhook_key,
  webhook_secret,
} from '../../../test/factories/notices.ts';
import { claimDueDeliveries } from '../../engine/notices/claim.ts';
import { settleDelivery } from '../../engine/notices/settle_delivery.ts';
import {
  harness,
  openAroundTests,
  receiver,
  send,
  withWebhook,
} from '../../../test/factories/notices_around_tests.ts';

const hour_ms = 3_600_000;
let now = Date.parse('2026-01-01T00:00:00.000000Z');
openAroundTests(() => now);

test('a webhook gets each change once, signed, however many processes send', async () => {
  const { home, exported, received, state } = await withWebhook();
  const run = await endedRun(harness, exported.id, failed);
  await endedRun(harness, exported.id, failed);
  await Promise.all([send(), send(), send()]);
  await endedRun(harness, exported.id, completed);
  await Promise.all([send(), send()]);
  const requests = received();
  assert.deepEqual(
    requests.map(({ body }) => JSON.parse(body).type),
    ['batch_export.failing', 'batch_export.recovered'],
  );
  for (const { headers, body } of requests) {
    const signature = createHmac('sha256', webhook_key)
      .update(`${String(headers['webhook-id'])}.${now / 1000}.${body}`)
      .digest('base64');
    assert.deepEqual(
      [headers['webhook-timestamp'], headers['webhook-signature']],
      [String(now / 1000), `v1,${signature}`],
    );
  }
  const { timestamp, data } = JSON.parse(requests[0]!.body);
  assert.equal(timestamp, '2026-01-01T00:00:00.000000Z');
  assert.deepEqual(data.batch_export, {
    id: exported.id,
    team_id: home.project.id,
    name: 'Lake',
    model: 'events',
    interval: 'hour',
    destination_type: 'NoOp',
  });
  assert.deepEqual(data.project, { id: home.project.id, name: 'Default project', timezone: 'UTC' });
  assert.deepEqual(
    [data.run.id, data.run.status, data.run.error_code, data.detail],
    [run, 'Failed', failed.code, `Failing: a run of the export failed. ${failed.message}`],
  );
  assert.equal(JSON.parse(requests[1]!.body).data.recovered_from, 'failing');
  const { last_attempt } = await state();
  assert.deepEqual(
    [last_attempt.outcome, last_attempt.event, last_attempt.batch_export, last_attempt.detail],
    ['delivered', 'recovered', exported.id, null],
  );
  assert.equal(last_attempt.notice, requests[1]!.headers['webhook-id']);
});

test('a failed notice is retried with the same id, with growing pauses, for a day', async () => {
  const { home, exported, received, state } = await withWebhook();
  await endedRun(harness, exported.id, failed);
  const faults = [
    { status: 500 },
    { status: 404 },
    'cut' as const,
    { status: 302, headers: { location: '/elsewhere' } },
  ];
  receiver.plan(...Array.from({ length: 28 }, (_, index) => faults[index % 4]!));
  const began = now;
  const pauses: number[] = [];
  for (let attempt = 1; attempt <= 27; attempt += 1) {
    assert.equal(await send(), 1);
    assert.equal(received().length, attempt);
    const { last_attempt } = await state();
    assert.equal(last_attempt.outcome, 'failed');
    const next = Date.parse(last_attempt.next_attempt_at);
    pauses.push(next - now);
    now = next - 1;
    assert.equal(await send(), 0);
    now = next;
  }
  assert.ok(
    pauses.every(
      (pause, index) =>
        pause <= 1.1 * hour_ms && (index === 0 || pause >= pauses[index - 1]! || pause >= hour_ms),
    ),
    String(pauses),
  );
  assert.ok(now - began > 22 * hour_ms && now - began < 26 * hour_ms);
  assert.equal(await send(), 1);
  assert.deepEqual(await deliveriesOf(harness, exported.id), [
    { outcome: 'given_up', attempts: 28, next_attempt_at: null },
  ]);
  const { last_attempt } = await state();
  assert.deepEqual([last_attempt.outcome, last_attempt.next_attempt_at], ['given_up', null]);
  const ids = new Set(received().map(({ headers }) => headers['webhook-id']));
  const bodies = new Set(received().map(({ body }) => body));
  const signatures = new Set(received().map(({ headers }) => headers['webhook-signature']));
  assert.deepEqual([ids.size, bodies.size, signatures.size], [1, 1, 28]);
  assert.deepEqual(
    receiver.requests.filter(({ path }) => path === '/elsewhere'),
    [],
  );
  const logs = await home.ask(
    'GET',
    `/api/projects/${home.project.id}/batch_exports/${exported.id}/logs/?search=gives up`,
  );
  assert.match(
    logs.body.results[0].message,
    /Sluice gives up the notice "failing" after attempt 28: /,
  );
});

test('a receiver that asks for a pause gets it, an hour at most', async () => {
  const { home, exported, received, state, change, url } = await withWebhook();
  const beside = await newExport(home);
  await endedRun(harness, exported.id, failed);
  await endedRun(harness, beside.id, failed);
  // A date of HTTP has whole seconds.
  now = Math.ceil(now / 1000) * 1000;
  const rests: [Answer, number][] = [
    [{ status: 429, headers: { 'retry-after': '120' } }, 120_000],
    [
      {
        status: 503,
        headers: { 'retry-after': new Date(now + 120_000 + 600_000).toUTCString() },
      },
      600_000,
    ],
    [{ status: 429, headers: { 'retry-after': '86400' } }, hour_ms],
  ];
  for (const [answer, rest_ms] of rests) {
    receiver.plan(answer);
    assert.equal(await send(), 1, 'the other notice rests as well');
    assert.match(
      (await state()).last_attempt.detail,
      new RegExp(`sends it nothing for ${rest_ms / 1000} seconds`),
    );
    now += rest_ms - 1;
    assert.equal(await send(), 0);
    now += 1;
  }
  receiver.plan({ status: 429, headers: { 'retry-after': '3600' } });
  assert.equal(await send(), 1);
  await change({ url: `${url}?moved`, secret: webhook_secret });
  assert.ok((await send()) >= 1);
  now += 2 * hour_ms;
  await send();
  assert.equal(received().length, 4);
  assert.equal(receiver.requests.filter(({ path }) => path.endsWith('?moved')).length, 2);
});

test('no target gets a notice of an export before earlier ones; other exports pass', async () => {
  const { home, exported, received } = await withWebhook();
  const beside = await newExport(home);
  receiver.plan({ status: 500 });
  await endedRun(harness, exported.id, failed);
  assert.equal(await send(), 1);
  await endedRun(harness, exported.id, completed);
  await endedRun(harness, beside.id, failed);
  assert.equal(await send(), 1);
  assert.equal(JSON.parse(received()[1]!.body).data.batch_export.id, beside.id);
  now += 6_000;
  await Promise.all([send(), send()]);
  assert.deepEqual(
    received()
      .slice(2)
      .map(({ body }) => JSON.parse(body).type),
    ['batch_export.failing', 'batch_export.recovered'],
  );
});

test('a target that hangs has one attempt in progress, and delays no other', async () => {
  const [hanging, other] = [
    await withWebhook({ url: `${receiver.url}/hang` }),
    await withWebhook(),
  ];
  await harness.deps.db.run(sql`
    WITH told AS (
      INSERT INTO notices (id, batch_export_id, event, body, created_at)
      SELECT gen_random_uuid(), ${hanging.exported.id}, 'failing', '{}',
        ${new Date(now).toISOString()} FROM generate_series(1, 200) RETURNING id)
    INSERT INTO notice_deliveries (notice_id, team_id, batch_export_id, target_id, next_attempt_at)
    SELECT told.id, ${hanging.home.project.id}, gen_random_uuid(), ${hanging.target.id},
      ${new Date(now - hour_ms).toISOString()} FROM told`);
  const stop = new AbortController();
  const hung = () => receiver.requests.filter(({ path }) => path === '/hang').length;
  const until = async (condition: () => boolean | Promise<boolean>) => {
    while (!(await condition())) await setImmediate();
  };
  const isDelivered = async () =>
    (await deliveriesOf(harness, other.exported.id)).every(
      ({ outcome }) => outcome === 'delivered',
    );
  const sending = [1, 2, 3].map(() => send({ signal: stop.signal, look_ms: 5 }));
  await until(() => hung() > 0);
  await endedRun(harness, other.exported.id, failed);
  await until(isDelivered);
  await endedRun(harness, other.exported.id, completed);
  await until(isDelivered);
  assert.deepEqual([other.received().length, hung()], [2, 1]);
  stop.abort();
  await Promise.all(sending);
  assert.equal(hung(), 1);
  await harness.deps.db.run(
    sql`DELETE FROM notices WHERE batch_export_id = ${hanging.exported.id}`,
  );
});

test('a healthy target does not wait behind failing targets of its project', async () => {
  const { home, exported, target, create, received } = await withWebhook();
  const beside = await newExport(home);
  receiver.plan({ status: 500 });
  await endedRun(harness, exported.id, failed);
  assert.equal(await send(), 1);
  const well = await create({ type: 'webhook', url: `${receiver.url}/well` });
  now += 6_000;
  await endedRun(harness, beside.id, failed);
  const claimed = await claimDueDeliveries(
    harness.deps.db,
    { now, leased_until: now + 1, last_team_id: 0 },
    2,
  );
  assert.deepEqual(
    claimed.map(({ target_id, batch_export_id }) => [target_id, batch_export_id]),
    [
      [well.id, beside.id],
      [target.id, exported.id],
    ],
    'the retry had been due longer',
  );
  now += 1;
  assert.equal(await send(), 3);
  assert.equal(received().length, 3);
});

test('a receiver that hangs is left, one that comes back gets what it missed', async () => {
  const { exported, received, state } = await withWebhook();
  await endedRun(harness, exported.id, failed);
  receiver.plan('hang');
  assert.equal(await send({ answer_ms: 100 }), 1);
  assert.match((await state()).last_attempt.detail, /did not answer within 0\.1 seconds/);
  now += hour_ms;
  assert.equal(await send(), 1);
  assert.equal(received().length, 2);
  assert.equal((await state()).last_attempt.outcome, 'delivered');
});

test('a stopped process returns the notice; that of a killed one is due later', async () => {
  const { exported, received } = await withWebhook();
  await endedRun(harness, exported.id, failed);
  const stop = new AbortController();
  receiver.plan('hang', { status: 500 });
  receiver.onRequest(() => stop.abort());
  await send({ signal: stop.signal });
  receiver.onRequest(() => {});
  assert.equal(await send(), 1);
  now += 40_000;
  const killed = await claimOne(harness, now);
  assert.equal(await send(), 0);
  now += 60_000;
  assert.equal(await send(), 1);
  assert.deepEqual(await deliveriesOf(harness, exported.id), [
    { outcome: 'delivered', attempts: 4, next_attempt_at: null },
  ]);
  await settleDelivery(harness.deps, killed, { outcome: 'failed', detail: 'Said too late.' });
  assert.equal((await deliveriesOf(harness, exported.id))[0]!.outcome, 'delivered');
  assert.equal(new Set(received().map(({ headers }) => headers['webhook-id'])).size, 1);
});
