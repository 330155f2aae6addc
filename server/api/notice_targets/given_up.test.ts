import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { newExport } from '../../../test/factories/batch_exports/batch_exports.ts';
import { completed, endedRun, failed } from '../../../test/factories/batch_exports/ended_runs.ts';
import { claimOne, deliveriesOf, webhook_secret } from '../../../test/factories/notices.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { sendDueNotices } from '../../engine/notices/send.ts';
import { settleDelivery } from '../../engine/notices/settle_delivery.ts';
import { sweepNotices } from '../../engine/notices/sweep.ts';
import {
  harness,
  openAroundTests,
  receiver,
  relay,
  send,
  withWebhook,
} from '../../../test/factories/notices_around_tests.ts';

const hour_ms = 3_600_000;
let now = Date.parse('2026-01-01T00:00:00.000000Z');
openAroundTests(() => now);

test('the sender sends what another attempt left for the recipient meanwhile', async () => {
  const { home, exported, received } = await withWebhook();
  for (const { id } of [exported, await newExport(home)]) await endedRun(harness, id, failed);
  const { db, config } = harness.deps;
  // Nothing is due while the first attempt is under way; it has ended when that is heard.
  const late = async <Result>(work: Parameters<typeof db.transaction<Result>>[0]) => {
    const result = await db.transaction(work);
    if (Array.isArray(result) && result.length === 0) {
      const isUnderWay = sql`SELECT 1 FROM notice_deliveries WHERE is_under_way`;
      while ((await db.row(isUnderWay)) !== undefined) await setImmediate();
      for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    }
    return result;
  };
  const hearing: Database = Object.assign(Object.create(db), { transaction: late });
  const sender = { ...harness.deps, db: hearing, public_url: config.public_url };
  assert.equal(await sendDueNotices(sender, { look_ms: 0 }), 2);
  assert.equal(received().length, 2);
});

test('a receiver that answers 410 has its target switched off with the reason', async () => {
  const { home, exported, target, received, state, change } = await withWebhook();
  const beside = await newExport(home);
  await endedRun(harness, exported.id, failed);
  await endedRun(harness, beside.id, failed);
  receiver.plan({ status: 410 });
  assert.equal(await send(), 2);
  const gone = await state();
  assert.deepEqual(
    [gone.enabled, gone.last_attempt.outcome, gone.disabled_reason.code],
    [false, 'given_up', 'gone'],
  );
  assert.match(gone.disabled_reason.detail, /^The receiver answered 410/);
  now += 24 * hour_ms;
  await endedRun(harness, exported.id, completed);
  assert.equal(await send(), 0);
  assert.equal(received().length, 1);
  const log = await home.ask(
    'GET',
    `/api/organizations/${home.organization.id}/activity/?item_id=${target.id}`,
  );
  const [entry] = log.body.results;
  assert.deepEqual(
    [entry.activity, entry.user, entry.changes[0]],
    ['updated', null, { field: 'enabled', action: 'changed', before: true, after: false }],
  );
  assert.equal(
    entry.changes.find(({ field }: { field: string }) => field === 'disabled_reason.detail').after,
    gone.disabled_reason.detail,
  );
  await change({ events: ['failing'] });
  assert.equal((await state()).disabled_reason.code, 'gone');
  assert.equal((await change({ enabled: true })).body.disabled_reason, null);
});

test('a receiver that is gone says nothing of the address that its target has by now', async () => {
  const { exported, url, state, change } = await withWebhook();
  await endedRun(harness, exported.id, failed);
  const gone = (at: string) => ({
    outcome: 'gone' as const,
    detail: 'The receiver answered 410.',
    url: at,
  });
  const due = await claimOne(harness, now);
  const moved = `${url}/moved`;
  await change({ url: moved, secret: webhook_secret });
  await settleDelivery(harness.deps, due, gone(url));
  assert.deepEqual(
    [(await state()).enabled, (await state()).last_attempt.outcome],
    [true, 'failed'],
  );
  now += 6_000;
  await settleDelivery(harness.deps, await claimOne(harness, now), gone(moved));
  assert.deepEqual(
    [(await state()).enabled, (await state()).last_attempt.outcome],
    [false, 'given_up'],
  );
});

test('an outcome waits for a change of the target, and holds no lock meanwhile', async () => {
  const { exported, target } = await withWebhook();
  await endedRun(harness, exported.id, failed);
  const due = await claimOne(harness, now);
  const settling = await harness.deps.db.transaction(async (tx) => {
    await tx.row(sql`SELECT 1 FROM notice_targets WHERE id = ${target.id} FOR UPDATE`);
    const settled = settleDelivery(harness.deps, due, {
      outcome: 'hopeless',
      detail: 'Nobody is there.',
    });
    const waiting = () => tx.row(sql`SELECT 1 FROM pg_locks WHERE NOT granted`);
    while ((await waiting()) === undefined) await setImmediate();
    await tx.row(sql`SELECT 1 FROM notice_deliveries WHERE id = ${due.id} FOR UPDATE NOWAIT`);
    return { settled };
  });
  await settling.settled;
  assert.deepEqual(await deliveriesOf(harness, exported.id), [
    { outcome: 'given_up', attempts: 1, next_attempt_at: null },
  ]);
});

test('an abandoned mail to administrators is in the log, without address', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  await endedRun(harness, id, failed);
  await harness.deps.db.run(
    sql`UPDATE notice_deliveries SET attempts = 27 WHERE batch_export_id = ${id}`,
  );
  now += 10_000;
  relay.setFault('reject_recipient');
  assert.equal(await send(), 1);
  relay.setFault(undefined);
  const logs = await home.ask(
    'GET',
    `/api/projects/${home.project.id}/batch_exports/${id}/logs/?search=gives up`,
  );
  assert.deepEqual(
    logs.body.results.map(({ message }: { message: string }) => message),
    [
      'Sluice gives up the notice "failing" after attempt 28: it could not be delivered to an ' +
        'administrator of the organization. The mail relay did not accept the mail; the log ' +
        'of the server says why.',
    ],
  );
});

test('a former administrator gets no waiting notice', async () => {
  const home = await harness.newOrganization();
  const left = await harness.newMember(home.organization.id, 8);
  const { id } = await newExport(home);
  await endedRun(harness, id, failed);
  await harness.deps.db.run(sql`DELETE FROM members WHERE user_id = ${left.user.id}`);
  now += 10_000;
  assert.equal(await send(), 2);
  await relay.waitFor(home.user.email);
  assert.ok(!relay.mails.some(({ to }) => to.includes(left.user.email)));
});

test('old notices are removed, however many there are, a lot at a time', async () => {
  const { exported } = await withWebhook();
  const { db, clock } = harness.deps;
  await db.run(sql`
    INSERT INTO notices (id, batch_export_id, event, body, created_at)
    SELECT gen_random_uuid(), ${exported.id}, 'late', '{}', ${new Date(now).toISOString()}
      FROM generate_series(1, 1200)`);
  const left = async () =>
    (await db.row<{ count: number }>(
      sql`SELECT count(*) AS count FROM notices WHERE batch_export_id = ${exported.id}`,
    ))!.count;
  const removed: number[] = [];
  const run: typeof db.run = async (statement) => {
    const count = await db.run(statement);
    removed.push(count);
    return count;
  };
  now += 30 * 24 * hour_ms;
  await sweepNotices({ db: { ...db, run }, clock });
  assert.equal(await left(), 1200);
  now += 1;
  removed.length = 0;
  await sweepNotices({ db: { ...db, run }, clock });
  assert.equal(await left(), 0);
  assert.ok(removed.length > 2 && Math.max(...removed) <= 500, String(removed));
});
