import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { attrsOf, newExport } from '../../../test/factories/batch_exports.ts';
import { completed, endedRun, failed } from '../../../test/factories/ended_runs.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { openHttpReceiver } from '../../../test/servers/http_receiver.ts';
import type { HttpReceiver } from '../../../test/servers/http_receiver.ts';
import { openMailServer } from '../../../test/servers/mail_server.ts';
import type { MailServer } from '../../../test/servers/mail_server.ts';
import {
  deliveriesOf,
  openWebhook,
  webhook_key,
  webhook_secret,
} from '../../../test/factories/notices.ts';
import { notice_events } from '../../engine/notices/notice.ts';
import { claimDueDeliveries } from '../../engine/notices/claim.ts';
import { sendDueNotices } from '../../engine/notices/send.ts';
import { sealPlainUrls } from '../../engine/notices/webhook_url.ts';
import { silentLog } from '../../platform/log.ts';
import { openMail } from '../../platform/mail/mail.ts';
import type { Mail } from '../../platform/mail/mail.ts';

let now = Date.parse('2026-01-01T00:00:00Z');
let receiver: HttpReceiver;
let relay: MailServer;
let house: Harness;
before(async () => {
  receiver = await openHttpReceiver({});
  relay = await openMailServer();
  const clock = { now: () => now };
  const mail = openMail({
    url: relay.url,
    from: 'Sluice <sluice@example.com>',
    log: silentLog(),
    clock,
  });
  house = await openHarness({ clickhouse: false, deps: { clock, mail } });
});
after(async () => {
  await house.close();
  await relay.close();
  await receiver.close();
});

const projectList = (home: TestOrganization) => `/api/projects/${home.project.id}/notice_targets/`;
const organizationList = (home: TestOrganization) =>
  `/api/organizations/${home.organization.id}/notice_targets/`;
const secret = webhook_secret;

/** Sends what is due, mails through the given relay. */
const send = (mail: Mail) =>
  sendDueNotices({ ...house.deps, mail, public_url: house.deps.config.public_url });

test('targets are made, listed in both places, changed and deleted; a secret is shown once', async () => {
  const home = await house.newOrganization({ level: 1 });
  const exported = await newExport(house, home);
  const post = (body: unknown, list = projectList(home)) =>
    house.request('POST', list, { key: home.key, body });
  const webhook = await post({ type: 'webhook', url: 'https://example.com/hook' });
  assert.equal(webhook.status, 201, webhook.text);
  const { secret: made_secret, id, created_at, last_updated_at, ...rest } = webhook.body;
  assert.match(made_secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.equal(created_at, last_updated_at);
  const defaults = {
    team_id: home.project.id,
    events: [...notice_events],
    batch_export_ids: null,
    enabled: true,
    disabled_reason: null,
    last_attempt: null,
  };
  assert.deepEqual(rest, {
    ...defaults,
    type: 'webhook',
    address: null,
    url: 'https://example.com/********',
  });
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
    const listed = (await house.request('GET', list, { key: home.key })).body;
    assert.deepEqual(
      listed.results.map((target: { id: string }) => target.id),
      [email.id, own.id, id],
    );
    assert.ok(listed.results.every((target: object) => !('secret' in target)));
  }
  const url = `${projectList(home)}${id}/`;
  const changed = await house.request('PATCH', url, {
    key: home.key,
    body: { events: ['recovered'], secret, type: 'email' },
  });
  assert.deepEqual(
    [changed.body.events, changed.body.type, 'secret' in changed.body],
    [['recovered'], 'webhook', false],
  );
  for (const target of (await house.request('GET', projectList(home), { key: home.key })).body
    .results)
    assert.deepEqual(
      (
        await house.request('PUT', `${projectList(home)}${target.id}/`, {
          key: home.key,
          body: target,
        })
      ).body.url,
      target.url,
    );
  const put = await house.request('PUT', `${organizationList(home)}${id}/`, {
    key: home.key,
    body: { enabled: false },
  });
  assert.deepEqual([put.body.enabled, put.body.events], [false, ['recovered']]);
  assert.equal(
    (
      await house.request('PATCH', url, {
        key: home.key,
        body: {},
        headers: { 'if-match': changed.headers['etag']! },
      })
    ).status,
    412,
  );
  const log = await house.request(
    'GET',
    `/api/organizations/${home.organization.id}/activity/?item_id=${id}&activity=updated&ordering=number`,
    {
      key: home.key,
    },
  );
  const mask = '********';
  assert.deepEqual(log.body.results[0].changes.at(-1), {
    field: 'secret',
    action: 'changed',
    before: mask,
    after: mask,
  });
  assert.equal((await house.request('DELETE', url, { key: home.key })).status, 204);
  assert.equal((await house.request('GET', url, { key: home.key })).status, 404);
});

test('wrong bodies are 400 and name what is wrong; a project has 50 targets at most', async () => {
  const home = await house.newOrganization();
  const other = await house.newOrganization();
  const foreign = await newExport(house, other);
  const post = (body: unknown) => house.request('POST', projectList(home), { key: home.key, body });
  const hook = { type: 'webhook', url: 'https://example.com/' };
  const mail = { type: 'email', address: 'ops@example.com' };
  const cases: [unknown, string[]][] = [
    [{}, ['type required']],
    [{ type: 'pager' }, ['type invalid_choice']],
    [{ type: 'email' }, ['address required']],
    [{ type: 'webhook' }, ['url required']],
    [{ ...mail, address: 'nobody' }, ['address invalid_input']],
    [{ ...hook, url: null }, ['url null']],
    [
      { ...mail, url: 'https://example.com/', secret },
      ['secret invalid_input', 'url invalid_input'],
    ],
    [{ ...hook, address: 'ops@example.com' }, ['address invalid_input']],
    [{ ...hook, url: 'ftp://example.com/' }, ['url invalid_input']],
    [{ ...hook, url: 'https://user:word@example.com/' }, ['url invalid_input']],
    [{ ...hook, url: 'nonsense' }, ['url invalid_input']],
    [{ ...hook, secret: 'short' }, ['secret invalid_input']],
    [{ ...hook, secret: 'whsec_c2hvcnQ=' }, ['secret invalid_input']],
    [{ ...hook, secret: null }, ['secret null']],
    [{ ...hook, events: [] }, ['events min_items']],
    [{ ...hook, events: ['failing', 'sleeping'] }, ['events__1 invalid_choice']],
    [{ ...hook, batch_export_ids: [] }, ['batch_export_ids min_items']],
    [{ ...hook, batch_export_ids: ['x'] }, ['batch_export_ids__0 invalid_input']],
    [{ ...hook, batch_export_ids: [foreign.id] }, ['batch_export_ids__0 invalid_input']],
  ];
  for (const [body, attrs] of cases) {
    const answer = await post(body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.deepEqual(attrsOf(answer), attrs, JSON.stringify(body));
  }
  for (const team_id of [other.project.id, 0, 'x'])
    assert.equal(
      (
        await house.request('POST', organizationList(home), {
          key: home.key,
          body: { ...hook, team_id },
        })
      ).body.attr,
      'team_id',
    );
  await house.deps.db.run(sql`
    INSERT INTO notice_targets (id, team_id, type, address, events, enabled)
      SELECT gen_random_uuid(), ${home.project.id}, 'email', 'a@example.com', '{late}', true
      FROM generate_series(1, 50)`);
  assert.equal((await post(hook)).status, 409);
});

test('a test is delivered at once, signed, and says what went wrong; many are slowed', async () => {
  const home = await house.newOrganization();
  const make = async (body: unknown) =>
    (await house.request('POST', projectList(home), { key: home.key, body })).body;
  const tried = (target: { id: string }, query = '') =>
    house.request('POST', `${projectList(home)}${target.id}/test/${query}`, { key: home.key });
  const hook = await make({ type: 'webhook', url: `${receiver.url}/test`, secret, enabled: false });
  assert.deepEqual((await tried(hook, '?validate_only=true')).body, {
    is_delivered: null,
    detail: null,
  });
  assert.equal(receiver.requests.length, 0);
  receiver.plan(
    { status: 200, body: 'ok' },
    { status: 500, body: 'inside' },
    { status: 307, headers: { location: `${receiver.url}/elsewhere` } },
    'cut',
  );
  assert.deepEqual((await tried(hook)).body, { is_delivered: true, detail: null });
  const { headers, body } = receiver.requests[0]!;
  const signed = `${String(headers['webhook-id'])}.${now / 1000}.${body}`;
  const signature = createHmac('sha256', webhook_key).update(signed).digest('base64');
  assert.deepEqual(
    [headers['webhook-timestamp'], headers['webhook-signature'], headers['content-type']],
    [String(now / 1000), `v1,${signature}`, 'application/json'],
  );
  assert.deepEqual(
    [JSON.parse(body).type, JSON.parse(body).data.notice_target],
    ['notice_target.test', hook.id],
  );
  for (const words of [
    /^The receiver answered 500 /,
    /answered 307, a redirect, which is not followed/,
    /^The receiver ended the connection/,
  ]) {
    const answer = (await tried(hook)).body;
    assert.equal(answer.is_delivered, false);
    assert.match(answer.detail, words);
    assert.doesNotMatch(answer.detail, /inside/);
  }
  assert.ok(receiver.requests.every(({ path }) => path === '/test'));
  const refused = await make({ type: 'webhook', url: 'http://10.0.0.1/' });
  assert.match((await tried(refused)).body.detail, /not globally reachable/);
  const mail = await make({ type: 'email', address: 'test@example.com' });
  assert.equal((await tried(mail)).body.is_delivered, true);
  assert.match((await relay.waitFor('test@example.com')).content.text ?? '', /This is a test/);
  for (let count = 0; count < 4; count += 1) assert.equal((await tried(mail)).status, 200);
  const slowed = await tried(mail);
  assert.deepEqual([slowed.status, slowed.headers['retry-after']], [429, '60']);
  now += 60_000;
  assert.equal((await tried(mail)).status, 200);
});

test(
  'nobody is shown the path and query of an address, which are kept sealed; what was shown may ' +
    'be sent back',
  async () => {
    const { home, exported, change, state, received, target, url } = await openWebhook(
      house,
      receiver,
    );
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
    await endedRun(house, exported.id, failed);
    assert.equal(await send(house.deps.mail), 1);
    assert.equal(receiver.requests.at(-1)!.path, `/token/?t=${token}`);
    const activity = await house.request(
      'GET',
      `/api/organizations/${home.organization.id}/activity/?item_id=${target.id}&ordering=number`,
      { key: home.key },
    );
    const kept = await house.deps.db.rows(sql`SELECT to_jsonb(t) FROM notice_targets t`);
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

    await house.deps.db.run(
      sql`UPDATE notice_targets SET url = ${url}, url_sealed = NULL WHERE id = ${target.id}`,
    );
    await sealPlainUrls(house.deps.db, house.deps.secrets);
    assert.equal((await state()).url, `${receiver.url}/********`);
    await house.request('POST', `${projectList(home)}${target.id}/test/`, { key: home.key });
    assert.equal(received().length, 1);
  },
);

test(
  'a project has four attempts under way at most, over all who claim, and projects are served ' +
    'in turn',
  async () => {
    const [many, one] = [await openWebhook(house, receiver), await openWebhook(house, receiver)];
    for (let count = 0; count < 5; count += 1)
      await many.make({ type: 'webhook', url: `${receiver.url}/more`, secret });
    await endedRun(house, many.exported.id, failed);
    await endedRun(house, one.exported.id, failed);
    const claim = async (last_team_id: number, count: number) => {
      const claimed = await claimDueDeliveries(
        house.deps.db,
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
    await house.deps.db.run(sql`DELETE FROM notices`);
  },
);

test(
  'targets choose events and exports, and one that is switched off gets nothing, also of what ' +
    'waits',
  async () => {
    const { exported, make, target, received, change } = await openWebhook(house, receiver);
    const other = { type: 'webhook', url: `${receiver.url}/other`, secret };
    await make({ ...other, events: ['recovered'] });
    await make({ ...other, enabled: false });
    const { id } = await newExportBeside(target.team_id);
    await make({ ...other, batch_export_ids: [id] });
    await endedRun(house, exported.id, failed);
    assert.equal((await deliveriesOf(house, exported.id)).length, 1);
    await change({ enabled: false });
    await send(house.deps.mail);
    assert.deepEqual(
      [received().length, receiver.requests.filter(({ path }) => path === '/other').length],
      [0, 0],
    );
    assert.deepEqual(await deliveriesOf(house, exported.id), [
      { outcome: 'given_up', attempts: 1, next_attempt_at: null },
    ]);
  },
);

/** Another export of a project, without a caller. */
async function newExportBeside(team_id: number): Promise<{ id: string }> {
  const row = await house.deps.db.row<{ id: string }>(sql`
    INSERT INTO batch_exports (id, team_id, name, model, destination_type, "interval", timezone,
      planned_until)
    VALUES (gen_random_uuid(), ${team_id}, 'Beside', 'events', 'NoOp', 'hour', 'UTC', now())
      RETURNING id`);
  return row!;
}

test('mails go to the targets, and without any target to the administrators', async () => {
  const { home, exported, make } = await openWebhook(house, receiver, { enabled: false });
  await make({ type: 'email', address: 'ops@example.com' });
  relay.setFault('reject_recipient');
  await endedRun(house, exported.id, failed);
  await send(house.deps.mail);
  relay.setFault(undefined);
  now += 6_000;
  assert.equal(await send(house.deps.mail), 1);
  const mail = await relay.waitFor('ops@example.com');
  assert.equal(mail.content.subject, 'The export Lake is failing');
  assert.ok(
    mail.content.text?.includes(failed.message) &&
      mail.content.text.includes(`/api/projects/${home.project.id}/batch_exports/${exported.id}/`),
  );

  const bare = await house.newOrganization();
  const administrator = await house.newMember(bare.organization.id, 8);
  const member = await house.newMember(bare.organization.id, 1);
  const { id } = await newExport(house, bare, { name: 'Two\r\nlines' });
  await endedRun(house, id, failed);
  assert.equal(await send(house.deps.mail), 2);
  for (const { user } of [bare, administrator])
    assert.equal(
      (await relay.waitFor(user.email)).content.subject,
      'The export Two lines is failing',
    );
  assert.ok(!relay.mails.some(({ to }) => to.includes(member.user.email)));

  const unset = openMail({
    url: undefined,
    from: 'Sluice <sluice@example.com>',
    log: silentLog(),
    clock: house.deps.clock,
  });
  await endedRun(house, exported.id, completed);
  assert.equal(await send(unset), 1);
  assert.deepEqual((await deliveriesOf(house, exported.id)).at(-1), {
    outcome: 'given_up',
    attempts: 1,
    next_attempt_at: null,
  });
});

test('strangers and other projects get 404, keys without the scope 403', async () => {
  const home = await house.newOrganization();
  const stranger = await house.newOrganization();
  const second = await house.request('POST', '/api/projects/', {
    key: home.key,
    body: { name: 'Second', organization: home.organization.id },
  });
  const { id } = (
    await house.request('POST', projectList(home), {
      key: home.key,
      body: { type: 'email', address: 'ops@example.com' },
    })
  ).body;
  const reader = await house.newMember(home.organization.id, 1, ['batch_export:read']);
  for (const [base, key] of [
    [projectList(home), stranger.key],
    [organizationList(stranger), stranger.key],
    [`/api/projects/${second.body.id}/notice_targets/`, home.key],
  ] as const) {
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['POST', 'test/'],
    ] as const)
      assert.equal(
        (
          await house.request(method, `${base}${id}/${path}`, {
            key,
            ...(method === 'GET' ? {} : { body: {} }),
          })
        ).status,
        404,
        `${method} ${base}`,
      );
  }
  assert.equal(
    (await house.request('GET', `${projectList(home)}${id}/`, { key: reader.key })).status,
    200,
  );
  assert.equal(
    (await house.request('DELETE', `${projectList(home)}${id}/`, { key: reader.key })).status,
    403,
  );
});
