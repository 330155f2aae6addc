import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { setCookieOf } from '../../../test/factories/people/people.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Answer } from '../../../test/harness.ts';
import type { InviteLink } from '../../../test/factories/people/invites.ts';
import {
  acceptInvite,
  invitedAccount,
  lookAtInvite,
  membersOf,
  newInvite,
} from '../../../test/factories/people/invites.ts';

const hour_ms = 3_600_000;
const password = 'violet kettle harbour 92';
let passed_ms = 0;
const harness = aroundTests(() =>
  openHarness({
    clickhouse: false,
    deps: { clock: { now: () => Date.now() + passed_ms } },
  }),
);

const cookieOf = (answer: Answer) => ({ cookie: setCookieOf(answer)!.split(';')[0]! });

test('a person without an account signs up and joins at the invite’s level', async () => {
  const home = await harness.newOrganization({ name: 'Home' });
  const link = await newInvite(home, { first_name: 'Grace', level: 8, message: 'Hello!' });
  const shown = await lookAtInvite(harness, link);
  assert.deepEqual(shown.body, {
    id: link.id,
    organization_name: 'Home',
    invited_by: home.user.email,
    target_email: link.target_email,
    first_name: 'Grace',
    level: 8,
    message: 'Hello!',
    is_expired: false,
    has_account: false,
  });
  const about = { password, last_name: ' Hopper ' };
  const not_theirs = { level: 15, email: 'other@example.com', is_email_verified: true };
  const refused = await acceptInvite(harness, link, { ...about, ...not_theirs });
  assert.deepEqual(
    refused.body.errors.map(({ attr }: { attr: string }) => attr),
    Object.keys(not_theirs),
  );
  const joined = await acceptInvite(harness, link, about);
  assert.equal(joined.status, 201);
  const { organization, member } = joined.body;
  assert.deepEqual(organization, { id: home.organization.id, name: 'Home' });
  assert.deepEqual(
    [member.level, member.user.email, member.user.first_name, member.user.last_name],
    [8, link.target_email, 'Grace', 'Hopper'],
  );
  // The inviter has the link as well, so it does not prove the address.
  assert.equal(member.user.is_email_verified, false);
  assert.match(setCookieOf(joined)!, /^sluice_session=sls_\w{43}; .*HttpOnly; SameSite=Lax$/);
  const mine = await harness.request('PATCH', `/api/organizations/@current/`, {
    headers: cookieOf(joined),
    body: { name: 'Renamed' },
  });
  assert.deepEqual(
    [mine.status, mine.body.id, mine.body.membership_level],
    [200, home.organization.id, 8],
  );
  assert.deepEqual(await membersOf(home), [
    [link.target_email, 8],
    [home.user.email, 15],
  ]);
  assert.equal(
    (await home.ask('GET', `/api/organizations/${home.organization.id}/invites/`)).body.count,
    0,
  );
  assert.deepEqual(
    [
      (await lookAtInvite(harness, link)).status,
      (await acceptInvite(harness, link, { password })).status,
    ],
    [404, 404],
  );
});

test('an unknown id and a wrong token are the same 404', async () => {
  const home = await harness.newOrganization();
  const [link, other] = [await newInvite(home), await newInvite(home)];
  const wrong: Partial<InviteLink>[] = [
    { id: randomUUID(), token: link.token },
    { id: 'x', token: link.token },
    { id: link.id, token: other.token },
    { id: link.id, token: `${link.token.slice(0, -1)}${link.token.endsWith('A') ? 'B' : 'A'}` },
    { id: link.id, token: link.token.slice(1) },
    { id: link.id, token: '' },
    { id: link.id },
    { id: link.id, token: `${link.token}=` },
  ];
  const said = new Set<string>();
  for (const one of wrong)
    for (const answer of [
      await lookAtInvite(harness, one),
      await acceptInvite(harness, one, { password }),
      await lookAtInvite(harness, one, { key: home.key }),
      await acceptInvite(harness, one, {}, { key: home.key }),
    ]) {
      assert.equal(answer.status, 404, JSON.stringify(one));
      said.add(JSON.stringify({ ...answer.body, request_id: '' }));
    }
  assert.equal(said.size, 1);
  assert.equal((await lookAtInvite(harness, link)).status, 200);
});

test('an expired invite is shown as such and is not accepted', async () => {
  const home = await harness.newOrganization();
  const link = await newInvite(home);
  passed_ms = 73 * hour_ms;
  assert.equal((await lookAtInvite(harness, link)).body.is_expired, true);
  const answer = await acceptInvite(harness, link, { password });
  assert.deepEqual([answer.status, answer.body.code, answer.body.attr], [400, 'expired', null]);
  passed_ms = 0;
  assert.equal((await acceptInvite(harness, link, { password })).status, 201);
});

test('a sign-up needs a password that will do', async () => {
  const home = await harness.newOrganization();
  const link = await newInvite(home, {
    first_name: 'Grace',
    target_email: `grace.hopper.${randomUUID()}@example.com`,
  });
  const cases: [Record<string, unknown>, string][] = [
    [{}, 'password required'],
    [{ password: '' }, 'password blank'],
    [{ password: 'short' }, 'password min_length'],
    [{ password: 'x'.repeat(201) }, 'password max_length'],
    [{ password: 123456789012 }, 'password invalid_input'],
    [{ password: 'password1234' }, 'password invalid_input'],
    [{ password: 'q1w2e3r4t5y6' }, 'password invalid_input'],
    [{ password: link.target_email.toUpperCase() }, 'password invalid_input'],
    [{ password, first_name: 'x'.repeat(151) }, 'first_name max_length'],
    [{ password, last_name: null }, 'last_name null'],
  ];
  for (const [body, wanted] of cases) {
    const answer = await acceptInvite(harness, link, body);
    assert.deepEqual(
      [answer.status, `${answer.body.attr} ${answer.body.code}`],
      [400, wanted],
      JSON.stringify(body),
    );
  }
  assert.deepEqual(await membersOf(home), [[home.user.email, 15]]);
});

test('nobody signs up with a password if their domain enforces single sign-on', async () => {
  const home = await harness.newOrganization();
  const domain = `${randomUUID()}.example.com`;
  await harness.deps.db.run(sql`
    INSERT INTO domains (id, organization_id, domain, verification_challenge, sso_enforcement,
      saml_entity_id, saml_acs_url, saml_x509_cert, state, since_at, reason, created_at)
    VALUES (${randomUUID()}, ${home.organization.id}, ${domain}, '', 'saml', 'https://idp.example',
      'https://idp.example/sso', 'certificate', 'verified', now(), '', now())`);
  const link = await newInvite(home, { target_email: `grace@${domain}` });
  const answer = await acceptInvite(harness, link, { password });
  assert.deepEqual([answer.status, answer.body.code], [400, 'sso_enforced']);
  assert.equal((await lookAtInvite(harness, link)).body.has_account, false);
});

test('an old cookie does not stop a sign-up, a wrong key and another site do', async () => {
  const home = await harness.newOrganization();
  const link = await newInvite(home);
  const headers = { cookie: `sluice_session=sls_${'x'.repeat(43)}` };
  assert.equal((await acceptInvite(harness, link, { password }, { key: 'slk_wrong' })).status, 401);
  assert.equal(
    (await acceptInvite(harness, link, { password }, { key: home.key, headers })).status,
    400,
  );
  assert.equal(
    (
      await acceptInvite(
        harness,
        link,
        { password },
        { headers: { 'sec-fetch-site': 'cross-site' } },
      )
    ).status,
    403,
  );
  assert.equal(
    (
      await acceptInvite(
        harness,
        link,
        { password },
        { headers: { origin: 'https://evil.example' } },
      )
    ).status,
    403,
  );
  assert.equal((await lookAtInvite(harness, link, { headers })).status, 200);
  assert.equal((await acceptInvite(harness, link, { password }, { headers })).status, 201);
});

test('validate_only keeps nothing and signs no one in', async () => {
  const home = await harness.newOrganization();
  const link = await newInvite(home);
  const answer = await harness.request(
    'POST',
    `/api/invites/${link.id}/accept/?validate_only=true`,
    { body: { token: link.token, password } },
  );
  assert.deepEqual([answer.status, answer.headers['set-cookie']], [200, undefined]);
  assert.equal((await lookAtInvite(harness, link)).body.has_account, false);
});

test('the log names who joined, with their key', async () => {
  const { home, own, link } = await invitedAccount(harness);
  await acceptInvite(harness, link, {}, { key: own.key });
  const other = await newInvite(home);
  const joined = await acceptInvite(harness, other, { password });
  const entries = await harness.deps.db.rows<Record<string, unknown>>(sql`
    SELECT activity, scope, item_id, user_email, key_id IS NOT NULL AS by_key FROM activity
      WHERE organization_id = ${home.organization.id} AND activity = 'joined' ORDER BY number`);
  assert.deepEqual(
    entries.map((entry) => Object.values(entry)),
    [
      ['joined', 'member', own.user.uuid, own.user.email, true],
      ['joined', 'member', joined.body.member.user.uuid, other.target_email, false],
    ],
  );
});
