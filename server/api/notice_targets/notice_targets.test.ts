import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { attrsOf, newExport } from '../../../test/batch_exports.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { openHttpReceiver } from '../../../test/http_receiver.ts';
import type { HttpReceiver } from '../../../test/http_receiver.ts';
import { openMailServer } from '../../../test/mail_server.ts';
import type { MailServer } from '../../../test/mail_server.ts';
import { notice_events } from '../../engine/notices/notice.ts';
import { silentLog } from '../../platform/log.ts';
import { openMail } from '../../platform/mail.ts';

let now = Date.parse('2026-01-01T00:00:00Z');
let receiver: HttpReceiver;
let relay: MailServer;
let house: Harness;
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

const projectList = (home: TestOrganization) => `/api/projects/${home.project.id}/notice_targets/`;
const organizationList = (home: TestOrganization) => `/api/organizations/${home.organization.id}/notice_targets/`;
const secret = `whsec_${Buffer.from('a key that has thirty-two bytes!').toString('base64')}`;

test('targets are made, listed in both places, changed and deleted; a secret is shown once', async () => {
  const home = await house.newOrganization({ level: 1 });
  const exported = await newExport(house, home);
  const post = (body: unknown, list = projectList(home)) => house.request('POST', list, { key: home.key, body });
  const webhook = await post({ type: 'webhook', url: 'https://example.com/hook' });
  assert.equal(webhook.status, 201, webhook.text);
  const { secret: made_secret, id, created_at, last_updated_at, ...rest } = webhook.body;
  assert.match(made_secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.equal(created_at, last_updated_at);
  const defaults = { team_id: home.project.id, events: [...notice_events], batch_export_ids: null, enabled: true, last_attempt: null };
  assert.deepEqual(rest, { ...defaults, type: 'webhook', address: null, url: 'https://example.com/hook' });
  const own = (await post({ type: 'webhook', url: 'http://example.com/', secret })).body;
  assert.equal(own.secret, null);
  const wanted = { type: 'email', address: 'ops@example.com', events: ['late', 'late', 'failing'], batch_export_ids: [exported.id], enabled: false };
  const email = (await post(wanted, organizationList(home))).body;
  assert.deepEqual([email.events, email.batch_export_ids, email.enabled, email.secret], [['late', 'failing'], [exported.id], false, null]);
  for (const list of [projectList(home), organizationList(home)]) {
    const listed = (await house.request('GET', list, { key: home.key })).body;
    assert.deepEqual(
      listed.results.map((target: { id: string }) => target.id),
      [email.id, own.id, id],
    );
    assert.ok(listed.results.every((target: object) => !('secret' in target)));
  }
  const url = `${projectList(home)}${id}/`;
  const changed = await house.request('PATCH', url, { key: home.key, body: { events: ['recovered'], secret, type: 'email' } });
  assert.deepEqual([changed.body.events, changed.body.type, 'secret' in changed.body], [['recovered'], 'webhook', false]);
  const put = await house.request('PUT', `${organizationList(home)}${id}/`, { key: home.key, body: { enabled: false } });
  assert.deepEqual([put.body.enabled, put.body.events], [false, ['recovered']]);
  assert.equal((await house.request('PATCH', url, { key: home.key, body: {}, headers: { 'if-match': changed.headers['etag']! } })).status, 412);
  const log = await house.request('GET', `/api/organizations/${home.organization.id}/activity/?item_id=${id}&activity=updated&ordering=number`, {
    key: home.key,
  });
  const mask = '********';
  assert.deepEqual(log.body.results[0].changes.at(-1), { field: 'secret', action: 'changed', before: mask, after: mask });
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
    [{ ...mail, url: 'https://example.com/', secret }, ['secret invalid_input', 'url invalid_input']],
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
    assert.equal((await house.request('POST', organizationList(home), { key: home.key, body: { ...hook, team_id } })).body.attr, 'team_id');
  await house.deps.db.run(sql`
    INSERT INTO notice_targets (id, team_id, type, address, events, enabled) SELECT gen_random_uuid(), ${home.project.id}, 'email', 'a@example.com', '{late}', true FROM generate_series(1, 50)`);
  assert.equal((await post(hook)).status, 409);
});

test('a test is delivered at once, signed, and says what went wrong; many are slowed', async () => {
  const home = await house.newOrganization();
  const make = async (body: unknown) => (await house.request('POST', projectList(home), { key: home.key, body })).body;
  const tried = (target: { id: string }, query = '') => house.request('POST', `${projectList(home)}${target.id}/test/${query}`, { key: home.key });
  const hook = await make({ type: 'webhook', url: `${receiver.url}/test`, secret, enabled: false });
  assert.deepEqual((await tried(hook, '?validate_only=true')).body, { is_delivered: null, detail: null });
  assert.equal(receiver.requests.length, 0);
  receiver.plan({ status: 200, body: 'ok' }, { status: 500, body: 'inside' }, { status: 307, headers: { location: `${receiver.url}/elsewhere` } }, 'cut');
  assert.deepEqual((await tried(hook)).body, { is_delivered: true, detail: null });
  const { headers, body } = receiver.requests[0]!;
  const signed = `${String(headers['webhook-id'])}.${now / 1000}.${body}`;
  const signature = createHmac('sha256', Buffer.from('a key that has thirty-two bytes!')).update(signed).digest('base64');
  assert.deepEqual(
    [headers['webhook-timestamp'], headers['webhook-signature'], headers['content-type']],
    [String(now / 1000), `v1,${signature}`, 'application/json'],
  );
  assert.deepEqual([JSON.parse(body).type, JSON.parse(body).data.notice_target], ['notice_target.test', hook.id]);
  for (const words of [/^The receiver answered 500 /, /answered 307, a redirect, which is not followed/, /^The receiver could not be reached/]) {
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

test('strangers and other projects get 404, keys without the scope 403', async () => {
  const home = await house.newOrganization();
  const stranger = await house.newOrganization();
  const second = await house.request('POST', '/api/projects/', { key: home.key, body: { name: 'Second', organization: home.organization.id } });
  const { id } = (await house.request('POST', projectList(home), { key: home.key, body: { type: 'email', address: 'ops@example.com' } })).body;
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
      assert.equal((await house.request(method, `${base}${id}/${path}`, { key, ...(method === 'GET' ? {} : { body: {} }) })).status, 404, `${method} ${base}`);
  }
  assert.equal((await house.request('GET', `${projectList(home)}${id}/`, { key: reader.key })).status, 200);
  assert.equal((await house.request('DELETE', `${projectList(home)}${id}/`, { key: reader.key })).status, 403);
});
