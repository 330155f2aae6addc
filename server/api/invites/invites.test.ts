import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  address,
  base,
  harness,
  invite,
  list,
  openAroundTests,
  remove,
  resend,
  shown,
} from '../../../test/factories/people/invites_around_tests.ts';
import type { Level } from '../../../test/factories/people/invites_around_tests.ts';
import { listInvites } from './store.ts';
import { faultsOf } from '../../../test/watchers/faults_of.ts';

const hour_ms = 3_600_000;
let passed_ms = 0;
openAroundTests(() => passed_ms);

test('an invite has the fields of the contract, and its link only for who created it', async () => {
  const { organization, key, user } = await harness.newOrganization();
  const sent = {
    target_email: ' Grace.Hopper@Example.COM ',
    first_name: ' Grace ',
    level: 8,
    message: 'Come\nalong',
    id: randomUUID(),
    is_expired: true,
    created_by: null,
  };
  const { status, body, headers } = await invite(organization.id, key, sent);
  assert.equal(status, 201);
  const fields = [
    'id',
    'target_email',
    'first_name',
    'emailing_attempt_made',
    'level',
    'is_expired',
    'created_by',
    'created_at',
    'updated_at',
    'message',
    'managed_by',
  ];
  assert.deepEqual(Object.keys(body), [...fields, 'link']);
  assert.deepEqual(
    [body.target_email, body.first_name, body.level, body.message],
    ['Grace.Hopper@example.com', 'Grace', 8, 'Come\nalong'],
  );
  assert.deepEqual(
    [body.emailing_attempt_made, body.is_expired, body.created_by.email],
    [false, false, user.email],
  );
  assert.notEqual(body.id, sent.id);
  assert.match(
    body.link,
    new RegExp(`^http://127\\.0\\.0\\.1:8000/invite/${body.id}\\?token=[\\w-]{43}$`),
  );
  assert.match(headers['etag']!, /^"/);
  const { link, ...record } = body;
  const { results, ...envelope } = await list(
    organization.id,
    (await harness.newMember(organization.id, 1)).key,
  );
  assert.deepEqual([results, envelope], [[record], { count: 1, next: null, previous: null }]);
  assert.equal((await shown(link)).status, 200);
  const least = await invite(organization.id, key, { target_email: address() });
  assert.deepEqual([least.body.first_name, least.body.level, least.body.message], ['', 1, null]);
  for (const method of ['GET', 'PATCH', 'PUT'])
    assert.equal(
      (await harness.request(method, `${base(organization.id)}${body.id}/`, { key })).status,
      405,
    );
});

test('everybody invites up to their own level', async () => {
  for (const own of [1, 8, 15] as Level[])
    for (const level of [1, 8, 15] as Level[]) {
      const { organization } = await harness.newOrganization();
      const { key } = await harness.newMember(organization.id, own);
      const answer = await invite(organization.id, key, { target_email: address(), level });
      assert.equal(answer.status, level <= own ? 201 : 403, `${own} invites ${level}`);
      if (level > own)
        assert.deepEqual(
          [answer.body.attr, answer.body.code, answer.body.type],
          ['level', 'permission_denied', 'authentication_error'],
        );
    }
});

test('a member is not invited again, however the address is written', async () => {
  const { organization, key, user } = await harness.newOrganization();
  const inactive = await harness.newMember(organization.id, 1);
  await harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE id = ${inactive.user.id}`);
  for (const target_email of [user.email, user.email.toUpperCase(), ` ${inactive.user.email} `]) {
    const answer = await invite(organization.id, key, { target_email, level: 3 });
    assert.equal(answer.status, 400);
    assert.deepEqual(faultsOf(answer), ['level invalid_choice', 'target_email invalid_input']);
    assert.equal(
      /deactivated/.test(answer.body.errors[1].detail),
      target_email.trim() === inactive.user.email,
    );
  }
  assert.equal(
    (
      await harness.request(
        'DELETE',
        `/api/organizations/${organization.id}/members/${inactive.user.uuid}/`,
        { key },
      )
    ).status,
    204,
  );
  assert.equal(
    (await invite(organization.id, key, { target_email: inactive.user.email })).status,
    201,
  );
  const stranger = await harness.newOrganization();
  assert.equal(
    (await invite(stranger.organization.id, stranger.key, { target_email: user.email })).status,
    201,
  );
});

test('a new invite for an address replaces the open one, and the link before it ends', async () => {
  const { organization, key } = await harness.newOrganization();
  const member = await harness.newMember(organization.id, 1);
  const first = (
    await invite(organization.id, key, { target_email: 'Ada@Example.com', first_name: 'Ada' })
  ).body;
  const second = await invite(organization.id, member.key, { target_email: 'aDA@example.COM' });
  assert.equal(second.status, 201);
  assert.notEqual(second.body.id, first.id);
  const { results } = await list(organization.id, key);
  assert.deepEqual(
    results.map((one: any) => [one.id, one.target_email, one.first_name, one.created_by.email]),
    [[second.body.id, 'aDA@example.com', '', member.user.email]],
  );
  assert.equal((await shown(first.link)).status, 404);
  assert.equal((await shown(second.body.link)).status, 200);
  const log = await harness.request(
    'GET',
    `/api/organizations/${organization.id}/activity/?scope=invite`,
    { key },
  );
  const replaced = { field: 'replaced_invite', action: 'created', before: null, after: first.id };
  assert.deepEqual(
    log.body.results.map(({ changes }: any) =>
      changes.filter(({ field }: any) => field === 'replaced_invite'),
    ),
    [[replaced], []],
  );
});

test('an open invite is replaced by its level or more, an expired one by all', async () => {
  const { organization, key } = await harness.newOrganization();
  const member = await harness.newMember(organization.id, 1);
  const target_email = address();
  const high = (await invite(organization.id, key, { target_email, level: 15 })).body;
  const low = await invite(organization.id, member.key, { target_email });
  assert.deepEqual([low.status, low.body.attr], [403, 'target_email']);
  assert.equal((await shown(high.link)).status, 200);
  passed_ms += 73 * hour_ms;
  assert.equal((await invite(organization.id, member.key, { target_email })).status, 201);
  passed_ms = 0;
});

test('the list is newest first, in pages', async () => {
  const { organization, key } = await harness.newOrganization();
  const ids = [];
  for (let index = 0; index < 5; index += 1)
    ids.unshift((await invite(organization.id, key, { target_email: address() })).body.id);
  const page = async (query: string) =>
    (await harness.request('GET', `${base(organization.id)}?${query}`, { key })).body;
  assert.deepEqual(
    (await page('')).results.map((one: any) => one.id),
    ids,
  );
  const middle = await page('limit=2&offset=2');
  assert.deepEqual([middle.count, middle.results.map((one: any) => one.id)], [5, ids.slice(2, 4)]);
  assert.match(middle.next, /limit=2&offset=4$/);
});

test('invites of others are 404, a stale If-Match 412; validate_only keeps nothing', async () => {
  const { organization, key } = await harness.newOrganization();
  const stranger = await harness.newOrganization();
  const created = await invite(organization.id, key, { target_email: address() });
  for (const id of [created.body.id, randomUUID(), 'x', '@me'])
    for (const answer of [
      await remove(stranger.organization.id, id, stranger.key),
      await resend(stranger.organization.id, id, stranger.key),
    ])
      assert.equal(answer.status, 404, id);
  assert.equal(
    (await remove(organization.id, created.body.id, key, { 'if-match': '"stale"' })).status,
    412,
  );
  const validated = await harness.request('POST', `${base(organization.id)}?validate_only=true`, {
    key,
    body: { target_email: created.body.target_email },
  });
  assert.deepEqual(
    [validated.status, validated.body.target_email, 'link' in validated.body],
    [200, created.body.target_email, false],
  );
  const resent = await harness.request(
    'POST',
    `${base(organization.id)}${created.body.id}/resend/?validate_only=true`,
    { key },
  );
  assert.deepEqual(
    [resent.status, resent.body.id, 'link' in resent.body],
    [200, created.body.id, false],
  );
  const many = await harness.request('POST', `${base(organization.id)}bulk/?validate_only=true`, {
    key,
    body: [{ target_email: address() }],
  });
  assert.deepEqual(
    [many.status, 'link' in many.body, many.body.results.map((one: any) => 'link' in one)],
    [200, false, [false]],
  );
  assert.equal((await shown(created.body.link)).status, 200);
  assert.deepEqual(
    (await list(organization.id, key)).results.map((one: any) => one.id),
    [created.body.id],
  );
  assert.equal(
    (await remove(organization.id, created.body.id, key, { 'if-match': created.headers['etag'] }))
      .status,
    204,
  );
});

test('the log has one entry for each change, and no link', async () => {
  const { organization, key } = await harness.newOrganization();
  const { id, target_email } = (
    await invite(organization.id, key, { target_email: address(), message: 'Hello' })
  ).body;
  await resend(organization.id, id, key);
  await remove(organization.id, id, key);
  const entries = await harness.deps.db.rows<{ changes: { field: string }[] }>(
    sql`SELECT activity, scope, item_id, item_name, changes FROM activity
      WHERE organization_id = ${organization.id} ORDER BY number`,
  );
  const fields = ['target_email', 'first_name', 'level', 'message'];
  assert.deepEqual(
    entries.map(({ changes, ...entry }) => [
      ...Object.values(entry),
      changes.map(({ field }) => field),
    ]),
    [
      ['created', 'invite', id, target_email, fields],
      ['resent', 'invite', id, target_email, ['link']],
      ['deleted', 'invite', id, target_email, fields],
    ],
  );
});

test('a page asks of its own invites alone whether they are expired', async () => {
  const { organization, key } = await harness.newOrganization();
  for (let count = 0; count < 4; count += 1)
    await invite(organization.id, key, { target_email: address() });
  const { db } = harness.deps;
  const page = listInvites(organization.id, Date.now()).rows({ limit: 1, offset: 2 });
  assert.equal((await db.rows(page)).length, 1);
  const { rows } = await db.text(`EXPLAIN ANALYZE ${page.text}`, page.values);
  const looks = rows
    .map((row) => String(row['QUERY PLAN']))
    .filter((line) => / members v /.test(line));
  assert.match(looks[0] ?? '', /loops=1\)/, looks.join('\n'));
});
