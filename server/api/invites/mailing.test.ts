import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { setCookieOf } from '../../../test/factories/people/people.ts';
import { openMailServer } from '../../../test/servers/mail_server.ts';
import type { MailServer } from '../../../test/servers/mail_server.ts';
import { systemClock } from '../../platform/clock.ts';
import { silentLog } from '../../platform/log.ts';
import { openMail } from '../../platform/mail/mail.ts';

let relay: MailServer;
let harness: Harness;
let home: TestOrganization;
let passed_ms = 0;
const clock = { now: () => systemClock.now() + passed_ms };
before(async () => {
  relay = await openMailServer();
  const bounds = { connect_milliseconds: 8_000, send_milliseconds: 8_000 };
  const mail = openMail({
    url: relay.url,
    from: 'Sluice <sluice@example.com>',
    log: silentLog(),
    clock,
    bounds,
  });
  harness = await openHarness({ clickhouse: false, deps: { clock, mail } });
  home = await harness.newOrganization({ name: 'Analytical <Engines>' });
  await harness.deps.db.run(
    sql`UPDATE users SET first_name = 'Ada', last_name = 'Lovelace' WHERE id = ${home.user.id}`,
  );
});
after(async () => {
  await harness.close();
  await relay.close();
});
beforeEach(() => relay.setFault(undefined));

const base = () => `/api/organizations/${home.organization.id}/invites/`;
const address = () => `${randomUUID()}@example.org`;
const invite = (body: unknown, headers = {}) => home.ask('POST', base(), body, headers);
const accept = (link: string, body: Record<string, unknown>, headers = {}) => {
  const { pathname, searchParams } = new URL(link);
  return harness.request('POST', `/api/invites/${pathname.split('/').at(-1)}/accept/`, {
    body: { token: searchParams.get('token'), ...body },
    headers,
  });
};
const linkIn = (text: string | undefined) => /^http\S+\/invite\/\S+$/m.exec(text ?? '')![0];
const listed = async (id: string) =>
  (await home.ask('GET', `${base()}?limit=1000`)).body.results.find((one: any) => one.id === id);

test('only administrators see the link that a mail brings', async () => {
  const member = await harness.newMember(home.organization.id, 1);
  const target_email = address();
  const ask = (path: string, body: object) =>
    harness.request('POST', `${base()}${path}`, { key: member.key, body });
  const created = await ask('', { target_email });
  const bulk = await ask('bulk/', [{ target_email: address() }]);
  const again = await ask(`${created.body.id}/resend/`, {});
  for (const { status, text } of [created, bulk, again]) {
    assert.ok(status === 200 || status === 201, text);
    assert.ok(!text.includes('token='), text);
  }
  const { etag = '' } = again.headers;
  const mail = await relay.waitFor(target_email);
  assert.match(linkIn(mail.content.text), new RegExp(`/invite/${created.body.id}\\?token=`));
  const headers = { 'if-match': etag };
  const url = `${base()}${created.body.id}/`;
  const removed = await harness.request('DELETE', url, { key: member.key, headers });
  assert.equal(removed.status, 204, removed.text);
});

test('a mail arrives, and its link works from sign-up to membership', async () => {
  const target_email = address();
  const created = await invite({
    target_email,
    first_name: 'Grace',
    level: 8,
    message: 'Come along!\n<b>Now</b>',
  });
  assert.deepEqual([created.status, created.body.emailing_attempt_made], [201, true]);
  assert.equal((await listed(created.body.id)).emailing_attempt_made, true);
  const { content, to } = await relay.waitFor(target_email);
  assert.deepEqual(
    [to, content.replyTo],
    [[target_email], [{ name: 'Ada Lovelace', address: home.user.email }]],
  );
  assert.equal(content.subject, 'Ada Lovelace invites you to Analytical <Engines>');
  for (const words of [
    'Hello Grace,',
    `Ada Lovelace (${home.user.email}) invites you to join Analytical <Engines>`,
    'Your level is administrator.',
    '> Come along!',
    '> <b>Now</b>',
  ])
    assert.ok(content.text!.includes(words), words);
  assert.match(content.text!, /can be accepted until \d+ \w+ \d{4} at \d\d:\d\d UTC/);
  assert.ok(content.html!.includes(`href="${created.body.link}"`));
  assert.ok(!content.html!.includes('<b>'));
  assert.equal(linkIn(content.text), created.body.link);
  const joined = await accept(linkIn(content.text), {
    password: 'violet kettle harbour 92',
    last_name: 'Hopper',
  });
  assert.equal(joined.status, 201);
  assert.deepEqual(
    [joined.body.member.level, joined.body.member.user.email, joined.body.member.user.first_name],
    [8, target_email, 'Grace'],
  );
  const cookie = setCookieOf(joined)!.split(';')[0]!;
  const members = await harness.request(
    'GET',
    `/api/organizations/${home.organization.id}/members/`,
    { headers: { cookie } },
  );
  assert.equal(members.body.results[0].user.email, target_email);
});

test('names write no paragraphs of their own', async () => {
  const { organization, key, user } = await harness.newOrganization({
    name: 'Engines\n\nYour account is locked',
  });
  await harness.deps.db.run(
    sql`UPDATE users SET first_name = ${'Ada\u202e\u2028\nOpen'},
      last_name = ${'http://evil.example\u200b'} WHERE id = ${user.id}`,
  );
  const target_email = address();
  assert.equal(
    (
      await harness.request('POST', `/api/organizations/${organization.id}/invites/`, {
        key,
        body: { target_email },
      })
    ).status,
    201,
  );
  const { subject, text } = (await relay.waitFor(target_email)).content;
  assert.equal(subject, 'Ada Open (link removed) invites you to Engines Your account is locked');
  assert.deepEqual(text!.split('\n\n').slice(0, 2), [
    'Join Engines Your account is locked on Sluice',
    `Ada Open (link removed) (${user.email}) invites you to join Engines Your account is ` +
      'locked on Sluice. Your level is member.',
  ]);
});

test('a mail that the relay refuses is one failed attempt; a later one succeeds', async () => {
  for (const fault of ['reject_recipient', 'reject_message', 'drop_during'] as const) {
    relay.setFault(fault);
    const created = await invite({ target_email: address() });
    assert.deepEqual([created.status, created.body.emailing_attempt_made], [201, false], fault);
    assert.equal((await listed(created.body.id)).emailing_attempt_made, false, fault);
    relay.setFault(undefined);
    const again = await home.ask('POST', `${base()}${created.body.id}/resend/`);
    assert.deepEqual([again.status, again.body.emailing_attempt_made], [200, true], fault);
    assert.deepEqual(
      await listed(created.body.id),
      Object.fromEntries(Object.entries(again.body).filter(([field]) => field !== 'link')),
    );
    assert.equal(
      linkIn((await relay.waitFor(created.body.target_email)).content.text),
      again.body.link,
    );
  }
});

test('the answer that is replayed says what became of the mail, with its own tag', async () => {
  for (const [fault, attempt] of [
    [undefined, true],
    ['reject_recipient', false],
  ] as const) {
    relay.setFault(fault);
    const headers = { 'idempotency-key': randomUUID() };
    const body = { target_email: address() };
    const [first, second] = [await invite(body, headers), await invite(body, headers)];
    assert.equal(second.headers['idempotent-replayed'], 'true');
    assert.deepEqual([second.body, second.headers['etag']], [first.body, first.headers['etag']]);
    assert.equal(second.body.emailing_attempt_made, attempt);
    assert.equal(
      relay.mails.filter(({ to }) => to[0] === body.target_email).length,
      attempt ? 1 : 0,
    );
  }
});

test('with a relay that is down the link in the answer does', async () => {
  const down = await openMailServer();
  await down.close();
  const mail = openMail({
    url: down.url,
    from: 'sluice@example.com',
    log: silentLog(),
    clock: systemClock,
  });
  const other = await openHarness({ clickhouse: false, deps: { mail } });
  const { organization, key } = await other.newOrganization();
  const invites = `/api/organizations/${organization.id}/invites/`;
  const created = await other.request('POST', invites, { key, body: { target_email: address() } });
  assert.deepEqual([created.status, created.body.emailing_attempt_made], [201, false]);
  const many = await other.request('POST', `${invites}bulk/`, {
    key,
    body: [{ target_email: address() }, { target_email: address() }],
  });
  assert.deepEqual(
    [many.status, many.body.results.map((one: any) => one.emailing_attempt_made)],
    [200, [false, false]],
  );
  for (const { id, link } of [created.body, many.body.results[1]]) {
    const token = new URL(link).searchParams.get('token');
    const joined = await other.request('POST', `/api/invites/${id}/accept/`, {
      body: { token, password: 'violet kettle harbour 92' },
    });
    assert.equal(joined.status, 201);
  }
  await other.close();
});

test('validate_only and a refused invite send nothing', async () => {
  const count = relay.mails.length;
  assert.equal(
    (await home.ask('POST', `${base()}?validate_only=true`, { target_email: address() })).status,
    200,
  );
  assert.equal((await invite({ target_email: home.user.email })).status, 400);
  assert.equal(
    (await home.ask('POST', `${base()}bulk/?validate_only=true`, [{ target_email: address() }]))
      .status,
    200,
  );
  assert.equal(
    (await home.ask('POST', `${base()}bulk/`, [{ target_email: address() }, {}])).status,
    400,
  );
  assert.equal(relay.mails.length, count);
});

test('a bulk sends one mail to each, with the link of each', async () => {
  const items = Array.from({ length: 20 }, () => ({ target_email: address() }));
  const answer = await home.ask('POST', `${base()}bulk/`, items);
  assert.equal(answer.status, 200);
  assert.equal(answer.body.emailing_attempt_made, true);
  for (const created of answer.body.results) {
    assert.equal(created.emailing_attempt_made, true);
    const mails = relay.mails.filter(({ to }) => to[0] === created.target_email);
    assert.deepEqual(
      mails.map(({ content }) => linkIn(content.text)),
      [created.link],
    );
  }
});

test('a bulk does not wait for a relay that hangs: the rest goes out later', async () => {
  relay.setFault('hang_after');
  const begun = performance.now();
  const body = Array.from({ length: 9 }, () => ({ target_email: address() }));
  const answer = await home.ask('POST', `${base()}bulk/`, body);
  assert.ok(
    performance.now() - begun < 7_800,
    'the answer comes before the first mail is given up',
  );
  assert.deepEqual(
    answer.body.results.map((created: any) => created.emailing_attempt_made),
    body.map(() => false),
  );
  relay.setFault(undefined);
  const tried = async () => {
    const { results } = (await home.ask('GET', `${base()}?limit=1000`)).body;
    const attempts = new Map(results.map((one: any) => [one.id, one.emailing_attempt_made]));
    return answer.body.results.map(({ id }: { id: string }) => attempts.get(id));
  };
  // The three that hung are tried again later; the others go out.
  const six = [false, false, false, true, true, true, true, true, true];
  await eventually('the six are not sent', async () => isDeepStrictEqual(await tried(), six));
  passed_ms += 10_000;
  await harness.deps.outbox.sendDue();
  assert.deepEqual(
    await tried(),
    body.map(() => true),
  );
});
