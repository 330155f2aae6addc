import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { newExport } from '../../../test/factories/batch_exports/batch_exports.ts';
import { endedRun, failed } from '../../../test/factories/batch_exports/ended_runs.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { webhook_secret } from '../../../test/factories/notices.ts';
import { notice_events } from '../../engine/notices/notice.ts';
import { claimDueDeliveries } from '../../engine/notices/claim.ts';
import {
  harness,
  openAroundTests,
  receiver,
  send,
  withWebhook,
} from '../../../test/factories/notices_around_tests.ts';

let now = Date.parse('2026-01-01T00:00:00Z');
openAroundTests(() => now);

const projectList = (home: TestOrganization) => `/api/projects/${home.project.id}/notice_targets/`;
const organizationList = (home: TestOrganization) =>
  `/api/organizations/${home.organization.id}/notice_targets/`;
const secret = webhook_secret;

/** Sends what is due, mails through the given relay. */
test('targets are created, in both lists, changed, deleted; a secret shows once', async () => {
  const home = await harness.newOrganization({ level: 1 });
  const exported = await newExport(home);
  const post = (body: unknown, list = projectList(home)) => home.ask('POST', list, body);
  const webhook = await post({ type: 'webhook', url: 'https://example.com/hook' });
  assert.equal(webhook.status, 201, webhook.text);
  const { secret: created_secret, id, created_at, last_updated_at, ...rest } = webhook.body;
  assert.match(created_secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.equal(created_at, last_updated_at);
  const defaults = {
    team_id: home.project.id,
    events: [...notice_events],
    batch_export_ids: null,
    enabled: true,
    disabled_reason: null,
    last_attempt: null,
    last_test: null,
    name: null,
    managed_by: null,
  };
  assert.deepEqual(rest, {
    ...defaults,
    type: 'webhook',
    address: null,
    url: 'https://example.com/********',
  });
  const checked = await post(
    { type: 'webhook', url: 'https://example.com/hook' },
    `${projectList(home)}?validate_only=true`,
  );
  assert.deepEqual([checked.status, checked.body.secret], [200, null]);
  const own = (await post({ type: 'webhook', url: 'http://example.com/', secret })).body;
  assert.equal(own.secret, null);
  const wanted = {
    type: 'email',
    address: 'ops@example.com',
    events: ['late', 'late', 'failing'],
    batch_export_ids: [exported.id],
    enabled: false,
  };
  const email = (await post(wanted, organizationList(home))).body;
  assert.deepEqual(
    [email.events, email.batch_export_ids, email.enabled, email.secret],
    [['late', 'failing'], [exported.id], false, null],
  );
  for (const list of [projectList(home), organizationList(home)]) {
    const listed = (await home.ask('GET', list)).body;
    assert.deepEqual(
      listed.results.map((target: { id: string }) => target.id),
      [email.id, own.id, id],
    );
    assert.ok(listed.results.every((target: object) => !('secret' in target)));
  }
  const url = `${projectList(home)}${id}/`;
  const moved = await home.ask('PATCH', url, { events: ['recovered'], type: 'email' });
  assert.deepEqual([moved.status, moved.body.attr, moved.body.code], [400, 'type', 'read_only']);
  const changed = await home.ask('PATCH', url, { events: ['recovered'], secret, type: 'webhook' });
  assert.deepEqual(
    [changed.body.events, changed.body.type, 'secret' in changed.body],
    [['recovered'], 'webhook', false],
  );
  for (const target of (await home.ask('GET', projectList(home))).body.results)
    assert.deepEqual(
      (await home.ask('PUT', `${projectList(home)}${target.id}/`, target)).body.url,
      target.url,
    );
  const put = await home.ask('PUT', `${organizationList(home)}${id}/`, { enabled: false });
  assert.deepEqual([put.body.enabled, put.body.events], [false, ['recovered']]);
  assert.equal(
    (await home.ask('PATCH', url, {}, { 'if-match': changed.headers['etag']! })).status,
    412,
  );
  const log = await home.ask(
    'GET',
    `/api/organizations/${home.organization.id}/activity/` +
      `?item_id=${id}&activity=updated&ordering=number`,
  );
  const mask = '********';
  assert.deepEqual(log.body.results[0].changes.at(-1), {
    field: 'secret',
    action: 'changed',
    before: mask,
    after: mask,
  });
  assert.equal((await home.ask('DELETE', url)).status, 204);
  assert.equal((await home.ask('GET', url)).status, 404);
});

test('the path and query of an address are sealed; the shown part may come back', async () => {
  const { home, exported, change, state, target } = await withWebhook();
  const token = 'a-token-that-nobody-may-see-c0de';
  const shown = `${receiver.url}/********c0de`;
  const answers = [
    await change({ url: `${receiver.url}/tokens/${token}`, secret }),
    await change({ url: `${receiver.url}/token/?t=${token}`, secret }),
  ];
  assert.deepEqual(
    answers.map(({ body }) => body.url),
    [shown, shown],
  );
  assert.equal((await change({ url: shown, events: ['failing'] })).status, 200);
  for (const [body, status] of [
    [{ url: `${receiver.url}/********abcd` }, 400],
    [{ url: `${receiver.url}/`, secret }, 200],
    [{ url: `${receiver.url}/token/?t=${token}`, secret }, 200],
  ] as const)
    assert.equal((await change(body)).status, status);
  await endedRun(harness, exported.id, failed);
  assert.equal(await send(), 1);
  assert.equal(receiver.requests.at(-1)!.path, `/token/?t=${token}`);
  const activity = await home.ask(
    'GET',
    `/api/organizations/${home.organization.id}/activity/?item_id=${target.id}&ordering=number`,
  );
  const kept = await harness.deps.db.rows(sql`SELECT to_jsonb(t) FROM notice_targets t`);
  const everything = JSON.stringify([answers, await state(), activity.body, kept]);
  assert.ok(
    everything.includes('********c0de') &&
      !everything.includes('nobody-may-see') &&
      !everything.includes('/hook/'),
  );
  const [, , second] = activity.body.results;
  assert.deepEqual(second.changes, [
    { field: 'url', action: 'changed', before: '********', after: '********' },
  ]);

  await harness.deps.db.run(
    sql`UPDATE notice_targets SET url_sealed = NULL WHERE id = ${target.id}`,
  );
  const unsealed = await home.ask('POST', `${projectList(home)}${target.id}/test/`);
  assert.match(unsealed.text, /Set both again/);
});

test('a project has at most four attempts in progress, and projects take turns', async () => {
  const [many, one] = [await withWebhook(), await withWebhook()];
  for (let count = 0; count < 5; count += 1)
    await many.create({ type: 'webhook', url: `${receiver.url}/more`, secret });
  await endedRun(harness, many.exported.id, failed);
  await endedRun(harness, one.exported.id, failed);
  const claim = async (last_team_id: number, count: number) => {
    const claimed = await claimDueDeliveries(
      harness.deps.db,
      { now, leased_until: now + 60_000, last_team_id },
      count,
    );
    return claimed.map(({ team_id }) => team_id);
  };
  const [a, b] = [many.home.project.id, one.home.project.id];
  assert.deepEqual(await claim(a, 2), [b, a]);
  const claimed = await Promise.all([claim(0, 2), claim(0, 2), claim(0, 2)]);
  assert.deepEqual(claimed.flat(), [a, a, a]);
  now += 60_000;
  assert.deepEqual(await claim(0, 100), [a, b, a, a, a]);
  await harness.deps.db.run(sql`DELETE FROM notices`);
});
