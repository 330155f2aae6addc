import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { openHarness } from '../../../test/harness.ts';
import type { Answer, Harness, TestOrganization } from '../../../test/harness.ts';

const hour_ms = 3_600_000;
const password = 'violet kettle harbour 92';
let harness: Harness;
let passed_ms = 0;
before(async () => {
  harness = await openHarness({
    clickhouse: false,
    deps: { clock: { now: () => Date.now() + passed_ms } },
  });
});
after(() => harness.close());

type Link = { id: string; token: string; target_email: string };
const address = () => `${randomUUID()}@example.com`;
const cookieOf = (answer: Answer) => ({ cookie: answer.headers['set-cookie']!.split(';')[0]! });
const members = async (home: TestOrganization) =>
  (
    await harness.request('GET', `/api/organizations/${home.organization.id}/members/`, {
      key: home.key,
    })
  ).body.results.map((one: any) => [one.user.email, one.level]);
const look = (
  { id, token }: Partial<Link>,
  sent: { key?: string; headers?: Record<string, string> } = {},
) =>
  harness.request(
    'GET',
    `/api/invites/${id}/${token === undefined ? '' : `?token=${token}`}`,
    sent,
  );
const accept = (
  { id, token }: Partial<Link>,
  body: Record<string, unknown> = {},
  sent: { key?: string; headers?: Record<string, string> } = {},
) =>
  harness.request('POST', `/api/invites/${id}/accept/`, {
    ...sent,
    body: { ...(token === undefined ? {} : { token }), ...body },
  });

async function invite(home: TestOrganization, fields: Record<string, unknown> = {}): Promise<Link> {
  const body = { target_email: address(), ...fields };
  const answer = await harness.request(
    'POST',
    `/api/organizations/${home.organization.id}/invites/`,
    { key: home.key, body },
  );
  assert.equal(answer.status, 201);
  return {
    id: answer.body.id,
    token: new URL(answer.body.link).searchParams.get('token')!,
    target_email: body.target_email,
  };
}

/** Somebody with an account and an organization of their own, invited to another one. */
async function invitedAccount(fields: { is_email_verified?: boolean } = {}) {
  const [home, own] = await Promise.all([harness.newOrganization(), harness.newOrganization()]);
  await harness.deps.db.run(
    sql`UPDATE users SET is_email_verified = ${fields.is_email_verified ?? false}
      WHERE id = ${own.user.id}`,
  );
  return {
    home,
    own,
    link: await invite(home, { target_email: own.user.email.toUpperCase(), level: 8 }),
  };
}

test(
  'who has no account signs up, joins with the level of the invite, is signed in, and the ' +
    'invite is gone',
  async () => {
    const home = await harness.newOrganization({ name: 'Home' });
    const link = await invite(home, { first_name: 'Grace', level: 8 });
    const shown = await look(link);
    assert.deepEqual(shown.body, {
      id: link.id,
      organization_name: 'Home',
      invited_by: home.user.email,
      target_email: link.target_email,
      first_name: 'Grace',
      level: 8,
      is_expired: false,
      has_account: false,
    });
    const joined = await accept(link, {
      password,
      last_name: ' Hopper ',
      level: 15,
      email: 'other@example.com',
      is_email_verified: true,
    });
    assert.equal(joined.status, 201);
    const { organization, member } = joined.body;
    assert.deepEqual(organization, { id: home.organization.id, name: 'Home' });
    assert.deepEqual(
      [member.level, member.user.email, member.user.first_name, member.user.last_name],
      [8, link.target_email, 'Grace', 'Hopper'],
    );
    // The inviter has the link as well, so it does not prove the address.
    assert.equal(member.user.is_email_verified, false);
    assert.match(
      joined.headers['set-cookie']!,
      /^sluice_session=sls_\w{43}; .*HttpOnly; SameSite=Lax$/,
    );
    const mine = await harness.request('PATCH', `/api/organizations/@current/`, {
      headers: cookieOf(joined),
      body: { name: 'Renamed' },
    });
    assert.deepEqual(
      [mine.status, mine.body.id, mine.body.membership_level],
      [200, home.organization.id, 8],
    );
    assert.deepEqual(await members(home), [
      [link.target_email, 8],
      [home.user.email, 15],
    ]);
    assert.equal(
      (
        await harness.request('GET', `/api/organizations/${home.organization.id}/invites/`, {
          key: home.key,
        })
      ).body.count,
      0,
    );
    assert.deepEqual(
      [(await look(link)).status, (await accept(link, { password })).status],
      [404, 404],
    );
  },
);

test('an unknown id and a wrong token are the same 404', async () => {
  const home = await harness.newOrganization();
  const [link, other] = [await invite(home), await invite(home)];
  const wrong: Partial<Link>[] = [
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
      await look(one),
      await accept(one, { password }),
      await look(one, { key: home.key }),
      await accept(one, {}, { key: home.key }),
    ]) {
      assert.equal(answer.status, 404, JSON.stringify(one));
      said.add(JSON.stringify({ ...answer.body, request_id: '' }));
    }
  assert.equal(said.size, 1);
  assert.equal((await look(link)).status, 200);
});

test('an expired invite is shown as such and is not accepted', async () => {
  const home = await harness.newOrganization();
  const link = await invite(home);
  passed_ms = 73 * hour_ms;
  assert.equal((await look(link)).body.is_expired, true);
  const answer = await accept(link, { password });
  assert.deepEqual([answer.status, answer.body.code, answer.body.attr], [400, 'expired', null]);
  passed_ms = 0;
  assert.equal((await accept(link, { password })).status, 201);
});

test('a sign-up needs a password that will do', async () => {
  const home = await harness.newOrganization();
  const link = await invite(home, {
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
    [{ password: link.target_email.toUpperCase() }, 'password invalid_input'],
    [{ password, first_name: 'x'.repeat(151) }, 'first_name max_length'],
    [{ password, last_name: null }, 'last_name null'],
  ];
  for (const [body, wanted] of cases) {
    const answer = await accept(link, body);
    assert.deepEqual(
      [answer.status, `${answer.body.attr} ${answer.body.code}`],
      [400, wanted],
      JSON.stringify(body),
    );
  }
  assert.deepEqual(await members(home), [[home.user.email, 15]]);
});

test('where the domain of the address asks for single sign-on nobody signs up with a password', async () => {
  const home = await harness.newOrganization();
  const domain = `${randomUUID()}.example.com`;
  await harness.deps.db.run(sql`
    INSERT INTO domains (id, organization_id, domain, verification_challenge, sso_enforcement,
      saml_entity_id, saml_acs_url, saml_x509_cert, state, since_at, reason, created_at)
    VALUES (${randomUUID()}, ${home.organization.id}, ${domain}, '', 'saml', 'https://idp.example',
      'https://idp.example/sso', 'certificate', 'verified', now(), '', now())`);
  const link = await invite(home, { target_email: `grace@${domain}` });
  const answer = await accept(link, { password });
  assert.deepEqual([answer.status, answer.body.code], [400, 'sso_enforced']);
  assert.equal((await look(link)).body.has_account, false);
});

test('who has an account signs in first; with it they join, by session or key', async () => {
  const { home, own, link } = await invitedAccount();
  assert.equal((await look(link)).body.has_account, true);
  const refused = await accept(link, { password });
  assert.deepEqual([refused.status, refused.body.code], [401, 'not_authenticated']);
  assert.match(refused.body.detail, /sign in/);
  const joined = await accept(link, {}, { key: own.key });
  assert.deepEqual(
    [joined.status, joined.body.member.user.uuid, joined.body.member.level],
    [201, own.user.uuid, 8],
  );
  assert.equal(joined.headers['set-cookie'], undefined);
  assert.deepEqual(await members(home), [
    [own.user.email, 8],
    [home.user.email, 15],
  ]);
  // The same person, signed in at a browser.
  const first = await invite(home);
  const headers = cookieOf(await accept(first, { password }));
  const second = await harness.newOrganization();
  const next = await invite(second, { target_email: first.target_email });
  assert.equal((await accept(next, {}, { headers })).status, 201);
  assert.deepEqual(
    (await harness.request('GET', '/api/organizations/', { headers })).body.results.map(
      (one: any) => one.id,
    ),
    [home.organization.id, second.organization.id],
  );
});

test('another account is refused, also with the right token', async () => {
  const { home, link } = await invitedAccount({ is_email_verified: true });
  const stranger = await harness.newOrganization();
  for (const one of [link, await invite(home)]) {
    const answer = await accept(one, { password }, { key: stranger.key });
    assert.deepEqual([answer.status, answer.body.code], [403, 'permission_denied']);
    assert.match(answer.body.detail, /another address/);
  }
});

test('without the token only the verified address of the invite opens it', async () => {
  for (const is_email_verified of [false, true]) {
    const { own, link } = await invitedAccount({ is_email_verified });
    const without = { id: link.id };
    assert.equal((await look(without, { key: own.key })).status, is_email_verified ? 200 : 404);
    assert.equal(
      (await accept(without, {}, { key: own.key })).status,
      is_email_verified ? 201 : 404,
    );
  }
});

test('a key needs the scope and no limits', async () => {
  const { home, own, link } = await invitedAccount();
  const cases: [Parameters<Harness['newKey']>[1], number][] = [
    [{ scopes: ['event:write'] }, 403],
    [{ scopes: ['organization_member:read'] }, 403],
    [{ scoped_organizations: [own.organization.id] }, 403],
    [{ scoped_teams: [own.project.id] }, 403],
    [{ scopes: ['organization_member:write'] }, 201],
  ];
  for (const [fields, status] of cases)
    assert.equal(
      (await accept(link, {}, { key: await harness.newKey(own.user, fields) })).status,
      status,
      JSON.stringify(fields),
    );
  assert.equal((await members(home)).length, 2);
});

test('who is already a member is told so, and the invite stays', async () => {
  const { home, own, link } = await invitedAccount();
  await harness.deps.db.run(
    sql`INSERT INTO members (id, organization_id, user_id, level)
      VALUES (${randomUUID()}, ${home.organization.id}, ${own.user.id}, 1)`,
  );
  const answer = await accept(link, {}, { key: own.key });
  assert.deepEqual([answer.status, answer.body.code], [400, 'invalid_input']);
  assert.match(answer.body.detail, /already a member/);
  assert.deepEqual((await members(home))[0], [own.user.email, 1]);
});

test('an old cookie is no obstacle to a sign-up, a wrong key and another site are', async () => {
  const home = await harness.newOrganization();
  const link = await invite(home);
  const headers = { cookie: `sluice_session=sls_${'x'.repeat(43)}` };
  assert.equal((await accept(link, { password }, { key: 'slk_wrong' })).status, 401);
  assert.equal((await accept(link, { password }, { key: home.key, headers })).status, 400);
  assert.equal(
    (await accept(link, { password }, { headers: { 'sec-fetch-site': 'cross-site' } })).status,
    403,
  );
  assert.equal(
    (await accept(link, { password }, { headers: { origin: 'https://evil.example' } })).status,
    403,
  );
  assert.equal((await look(link, { headers })).status, 200);
  assert.equal((await accept(link, { password }, { headers })).status, 201);
});

test('validate_only keeps nothing and signs nobody in', async () => {
  const home = await harness.newOrganization();
  const link = await invite(home);
  const answer = await harness.request(
    'POST',
    `/api/invites/${link.id}/accept/?validate_only=true`,
    { body: { token: link.token, password } },
  );
  assert.deepEqual([answer.status, answer.headers['set-cookie']], [200, undefined]);
  assert.equal((await look(link)).body.has_account, false);
});

test('the log names who joined, with their key', async () => {
  const { home, own, link } = await invitedAccount();
  await accept(link, {}, { key: own.key });
  const other = await invite(home);
  const joined = await accept(other, { password });
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
