import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { newExport } from '../../../test/batch_exports.ts';
import { completed, endedRun, failed } from '../../../test/ended_runs.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness } from '../../../test/harness.ts';
import { openHttpReceiver } from '../../../test/http_receiver.ts';
import type { HttpReceiver } from '../../../test/http_receiver.ts';
import { openMailServer } from '../../../test/mail_server.ts';
import type { MailServer } from '../../../test/mail_server.ts';
import { claimDueDelivery, settleDelivery, sweepNotices } from '../../engine/notices/outbox.ts';
import { sendDueNotices } from '../../engine/notices/send.ts';
import { silentLog } from '../../platform/log.ts';
import { openMail } from '../../platform/mail.ts';

const hour_ms = 3_600_000;
const key = Buffer.from('a key that has thirty-two bytes!');
const secret = `whsec_${key.toString('base64')}`;
let now = Date.parse('2026-01-01T00:00:00Z');
let receiver: HttpReceiver;
let relay: MailServer;
let house: Harness;
let paths = 0;
before(async () => {
  receiver = await openHttpReceiver({});
  relay = await openMailServer();
  const clock = { now: () => now };
  const mail = openMail({ url: relay.url, from: 'Sluice <sluice@example.com>', log: silentLog(), clock });
  house = await openHarness({ clickhouse: false, deps: { clock, mail } });
});
after(async () => {
  await house.close();
  await relay.close();
  await receiver.close();
});

const send = (options: { answer_ms?: number; signal?: AbortSignal } = {}) =>
  sendDueNotices({ ...house.deps, public_url: house.deps.config.public_url }, options);

/** An export, and a webhook with a path of its own that is told of it. */
async function withWebhook(fields: Record<string, unknown> = {}) {
  const home = await house.newOrganization();
  const exported = await newExport(house, home, { name: 'Lake' });
  const list = `/api/projects/${home.project.id}/notice_targets/`;
  const path = `/hook/${(paths += 1)}`;
  const make = async (body: Record<string, unknown>) => {
    const made = await house.request('POST', list, { key: home.key, body });
    assert.equal(made.status, 201, made.text);
    return made.body;
  };
  const target = await make({ type: 'webhook', url: `${receiver.url}${path}`, secret, ...fields });
  return {
    home,
    exported,
    make,
    target,
    received: () => receiver.requests.filter((request) => request.path === path),
    state: async () => (await house.request('GET', `${list}${target.id}/`, { key: home.key })).body,
    change: (body: Record<string, unknown>) => house.request('PATCH', `${list}${target.id}/`, { key: home.key, body }),
  };
}

const deliveriesOf = (exportId: string) =>
  house.deps.db.rows<{ outcome: string; attempts: number; next_attempt_at: string | null }>(sql`
    SELECT d.outcome, d.attempts, d.next_attempt_at FROM notice_deliveries d JOIN notices n ON n.id = d.notice_id WHERE n.batch_export_id = ${exportId} ORDER BY d.id`);

test('a webhook gets each change once, signed, however many processes send', async () => {
  const { home, exported, received, state } = await withWebhook();
  const run = await endedRun(house, exported.id, failed);
  await endedRun(house, exported.id, failed);
  await Promise.all([send(), send(), send()]);
  await endedRun(house, exported.id, completed);
  await Promise.all([send(), send()]);
  const requests = received();
  assert.deepEqual(
    requests.map(({ body }) => JSON.parse(body).type),
    ['batch_export.failing', 'batch_export.recovered'],
  );
  for (const { headers, body } of requests) {
    const signature = createHmac('sha256', key)
      .update(`${String(headers['webhook-id'])}.${now / 1000}.${body}`)
      .digest('base64');
    assert.deepEqual([headers['webhook-timestamp'], headers['webhook-signature']], [String(now / 1000), `v1,${signature}`]);
  }
  const { timestamp, data } = JSON.parse(requests[0]!.body);
  assert.equal(timestamp, '2026-01-01T00:00:00.000Z');
  assert.deepEqual(data.batch_export, { id: exported.id, team_id: home.project.id, name: 'Lake', model: 'events', interval: 'hour', destination_type: 'NoOp' });
  assert.deepEqual(
    [data.run.id, data.run.status, data.run.error_code, data.detail],
    [run, 'Failed', failed.code, `A run of the export has failed: ${failed.message}`],
  );
  assert.equal(JSON.parse(requests[1]!.body).data.recovered_from, 'failing');
  const { last_attempt } = await state();
  assert.deepEqual([last_attempt.outcome, last_attempt.event, last_attempt.batch_export, last_attempt.detail], ['delivered', 'recovered', exported.id, null]);
  assert.equal(last_attempt.notice, requests[1]!.headers['webhook-id']);
});

test('targets choose events and exports, and one that is switched off gets nothing, also of what waits', async () => {
  const { exported, make, target, received, change } = await withWebhook();
  const other = { type: 'webhook', url: `${receiver.url}/other`, secret };
  await make({ ...other, events: ['recovered'] });
  await make({ ...other, enabled: false });
  const { id } = await newExportBeside(target.team_id);
  await make({ ...other, batch_export_ids: [id] });
  await endedRun(house, exported.id, failed);
  assert.equal((await deliveriesOf(exported.id)).length, 1);
  await change({ enabled: false });
  await send();
  assert.deepEqual([received().length, receiver.requests.filter(({ path }) => path === '/other').length], [0, 0]);
  assert.deepEqual(await deliveriesOf(exported.id), [{ outcome: 'given_up', attempts: 1, next_attempt_at: null }]);
});

/** Another export of a project, without a caller. */
async function newExportBeside(team_id: number): Promise<{ id: string }> {
  const row = await house.deps.db.row<{ id: string }>(sql`
    INSERT INTO batch_exports (id, team_id, name, model, destination_type, "interval", timezone, planned_until)
    VALUES (gen_random_uuid(), ${team_id}, 'Beside', 'events', 'NoOp', 'hour', 'UTC', now()) RETURNING id`);
  return row!;
}

test('what fails is sent again with the same id, after growing pauses over a day, and is then given up', async () => {
  const { home, exported, received, state } = await withWebhook();
  await endedRun(house, exported.id, failed);
  receiver.plan(
    ...Array.from(
      { length: 11 },
      (_, index) => [{ status: 500 }, { status: 404 }, 'cut' as const, { status: 302, headers: { location: '/elsewhere' } }][index % 4]!,
    ),
  );
  const pauses: number[] = [];
  for (let attempt = 1; attempt <= 10; attempt += 1) {
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
    pauses.every((pause, index) => index === 0 || pause >= pauses[index - 1]!),
    String(pauses),
  );
  const all_ms = pauses.reduce((sum, pause) => sum + pause, 0);
  assert.ok(all_ms > 23 * hour_ms && all_ms < 25 * hour_ms);
  assert.equal(await send(), 1);
  assert.deepEqual(await deliveriesOf(exported.id), [{ outcome: 'given_up', attempts: 11, next_attempt_at: null }]);
  const { last_attempt } = await state();
  assert.deepEqual([last_attempt.outcome, last_attempt.next_attempt_at], ['given_up', null]);
  const ids = new Set(received().map(({ headers }) => headers['webhook-id']));
  const bodies = new Set(received().map(({ body }) => body));
  const signatures = new Set(received().map(({ headers }) => headers['webhook-signature']));
  assert.deepEqual([ids.size, bodies.size, signatures.size], [1, 1, 11]);
  assert.deepEqual(
    receiver.requests.filter(({ path }) => path === '/elsewhere'),
    [],
  );
  const logs = await house.request('GET', `/api/projects/${home.project.id}/batch_exports/${exported.id}/logs/?search=given up`, { key: home.key });
  assert.match(logs.body.results[0].message, /"failing" is given up at attempt 11: /);
});

test('a receiver that hangs is left, one that comes back gets what it missed', async () => {
  const { exported, received, state } = await withWebhook();
  await endedRun(house, exported.id, failed);
  receiver.plan('hang');
  assert.equal(await send({ answer_ms: 100 }), 1);
  assert.match((await state()).last_attempt.detail, /did not answer within 0\.1 seconds/);
  now += hour_ms;
  assert.equal(await send(), 1);
  assert.equal(received().length, 2);
  assert.equal((await state()).last_attempt.outcome, 'delivered');
});

test('a process that stops in the middle leaves the notice to another one', async () => {
  const { exported, received } = await withWebhook();
  await endedRun(house, exported.id, failed);
  const stop = new AbortController();
  receiver.plan('hang');
  receiver.onRequest(() => stop.abort());
  await send({ signal: stop.signal });
  receiver.onRequest(() => {});
  assert.equal(await send(), 0);
  now += 60_000;
  assert.equal(await send(), 1);
  assert.deepEqual((await deliveriesOf(exported.id))[0], { outcome: 'delivered', attempts: 2, next_attempt_at: null });
  assert.equal(new Set(received().map(({ headers }) => headers['webhook-id'])).size, 1);
});

test('a receiver that answers 410 has its target switched off, which is in the activity log', async () => {
  const { home, exported, target, received, state } = await withWebhook();
  await endedRun(house, exported.id, failed);
  receiver.plan({ status: 410 });
  await send();
  const gone = await state();
  assert.deepEqual([gone.enabled, gone.last_attempt.outcome], [false, 'given_up']);
  now += 24 * hour_ms;
  await endedRun(house, exported.id, completed);
  assert.equal(await send(), 0);
  assert.equal(received().length, 1);
  const log = await house.request('GET', `/api/organizations/${home.organization.id}/activity/?item_id=${target.id}`, { key: home.key });
  const [entry] = log.body.results;
  assert.deepEqual([entry.activity, entry.user, entry.changes], ['updated', null, [{ field: 'enabled', action: 'changed', before: true, after: false }]]);
});

test('mails go to the targets, and without any target to the administrators', async () => {
  const { home, exported, make } = await withWebhook({ enabled: false });
  await make({ type: 'email', address: 'ops@example.com' });
  relay.setFault('reject_recipient');
  await endedRun(house, exported.id, failed);
  await send();
  relay.setFault(undefined);
  now += 5_000;
  assert.equal(await send(), 1);
  const mail = await relay.waitFor('ops@example.com');
  assert.equal(mail.content.subject, 'The export Lake is failing');
  assert.ok(mail.content.text?.includes(failed.message) && mail.content.text.includes(`/api/projects/${home.project.id}/batch_exports/${exported.id}/`));

  const bare = await house.newOrganization();
  const administrator = await house.newMember(bare.organization.id, 8);
  const member = await house.newMember(bare.organization.id, 1);
  const { id } = await newExport(house, bare, { name: 'Two\r\nlines' });
  await endedRun(house, id, failed);
  assert.equal(await send(), 2);
  for (const { user } of [bare, administrator]) assert.equal((await relay.waitFor(user.email)).content.subject, 'The export Two lines is failing');
  assert.ok(!relay.mails.some(({ to }) => to.includes(member.user.email)));
});

test('a receiver that is gone says nothing of the address that its target has by now, and switches off once', async () => {
  const { home, exported, target, state, change } = await withWebhook();
  const dues = [];
  for (const end of [failed, completed, failed]) {
    await endedRun(house, exported.id, end);
    dues.push((await claimDueDelivery(house.deps.db, now, now + 60_000))!);
  }
  const gone = (url: string) => ({ outcome: 'gone' as const, detail: 'The receiver answered 410.', url });
  const moved = `${target.url}/moved`;
  await change({ url: moved });
  await settleDelivery(house.deps, dues[0]!, gone(target.url));
  assert.deepEqual([(await state()).enabled, (await state()).last_attempt.outcome], [true, 'failed']);
  for (const due of dues.slice(1)) await settleDelivery(house.deps, due, gone(moved));
  assert.deepEqual([(await state()).enabled, (await state()).last_attempt.outcome], [false, 'given_up']);
  assert.deepEqual(
    (await deliveriesOf(exported.id)).map(({ outcome }) => outcome),
    ['pending', 'given_up', 'given_up'],
  );
  const activity = await house.request('GET', `/api/organizations/${home.organization.id}/activity/?item_id=${target.id}`, { key: home.key });
  assert.equal(activity.body.results.filter((entry: { user: unknown }) => entry.user === null).length, 1);
});

test('an outcome waits for whoever is changing or deleting the target, and holds nothing meanwhile that he may need', async () => {
  const { exported, target } = await withWebhook();
  await endedRun(house, exported.id, failed);
  const due = (await claimDueDelivery(house.deps.db, now, now + 60_000))!;
  const settling = await house.deps.db.transaction(async (tx) => {
    await tx.row(sql`SELECT 1 FROM notice_targets WHERE id = ${target.id} FOR UPDATE`);
    const settled = settleDelivery(house.deps, due, { outcome: 'hopeless', detail: 'Nobody is there.' });
    const waiting = () => tx.row(sql`SELECT 1 FROM pg_locks WHERE NOT granted`);
    while ((await waiting()) === undefined) await setImmediate();
    await tx.row(sql`SELECT 1 FROM notice_deliveries WHERE id = ${due.id} FOR UPDATE NOWAIT`);
    return { settled };
  });
  await settling.settled;
  assert.deepEqual(await deliveriesOf(exported.id), [{ outcome: 'given_up', attempts: 1, next_attempt_at: null }]);
});

test('without a relay a mail is given up at once; old notices are removed', async () => {
  const { exported, make } = await withWebhook({ enabled: false });
  await make({ type: 'email', address: 'late@example.com' });
  await endedRun(house, exported.id, failed);
  const mail = openMail({ url: undefined, from: 'Sluice <sluice@example.com>', log: silentLog(), clock: house.deps.clock });
  assert.equal(await sendDueNotices({ ...house.deps, mail, public_url: 'http://localhost' }), 1);
  assert.deepEqual(await deliveriesOf(exported.id), [{ outcome: 'given_up', attempts: 1, next_attempt_at: null }]);
  now += 30 * 24 * hour_ms;
  await sweepNotices(house.deps);
  assert.equal((await deliveriesOf(exported.id)).length, 1);
  now += 1;
  await sweepNotices(house.deps);
  assert.equal((await deliveriesOf(exported.id)).length, 0);
});
