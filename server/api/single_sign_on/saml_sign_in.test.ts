import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { newPerson } from '../../../test/factories/people.ts';
import { testIdentityProvider } from '../../../test/saml/identity_provider.ts';
import {
  accountAt,
  assertRefused,
  beginSaml,
  changeDomain,
  genuine,
  openNavigator,
  openSingleSignOn,
  postResponse,
  respond,
  sessionOf,
  shownIn,
  signInBySaml,
} from '../../../test/factories/single_sign_on.ts';
import type { Home, SingleSignOnWorld } from '../../../test/factories/single_sign_on.ts';

let world: SingleSignOnWorld;
before(async () => {
  world = await openSingleSignOn();
});
after(() => world.close());

const email = 'ada@acme.example';
const logOf = (chain_id: string) =>
  world.harness.deps.db.rows<{ what: string; user_email: string | null }>(
    sql`SELECT scope || ' ' || activity AS what, user_email FROM activity
      WHERE chain_id = ${chain_id}::uuid ORDER BY number`,
  );
const membersOf = async (home: Home) =>
  (
    await world.harness.request('GET', `/api/organizations/${home.organization.id}/members/`, {
      key: home.key,
    })
  ).body.results.map(
    (member: { user: { email: string }; level: number }) => `${member.user.email} ${member.level}`,
  );
const invite = async (home: Home, level: number, target_email = email) =>
  assert.equal(
    (
      await world.harness.request('POST', `/api/organizations/${home.organization.id}/invites/`, {
        key: home.key,
        body: { target_email, level },
      })
    ).status,
    201,
  );
const verify = (id: number) =>
  world.harness.deps.db.run(sql`UPDATE users SET is_email_verified = true WHERE id = ${id}`);

test(
  'the whole way: to the provider, back with a response, a session, an account, a membership, ' +
    'where the person wanted to go',
  async () => {
    const home = await world.newHome({ jit_provisioning_enabled: true });
    const browser = openNavigator(world.harness);
    const begun = await browser.go(
      `/login/saml/?email=ADA@Acme.Example&next=${encodeURIComponent('/organizations/?a=1#b')}`,
    );
    assert.match(
      begun.headers['set-cookie']!,
      /^sluice_sign_in=\w{43}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    const request = await beginSaml(
      browser,
      email,
      `&next=${encodeURIComponent('/organizations/?a=1#b')}`,
    );
    assert.equal(
      request.issuer,
      `${world.harness.deps.config.public_url}/api/saml/metadata/?organization=${home.organization.id}`,
    );
    assert.equal(request.acs_url, `${world.harness.deps.config.public_url}/complete/saml/`);

    const taken = await postResponse(browser, genuine(world, request));
    assert.equal(taken.status, 303);
    assert.equal(await accountAt(world.harness, browser), undefined);
    const ended = await browser.go(taken.headers['location']!);
    assert.deepEqual([ended.status, ended.headers['location']], [303, '/organizations/?a=1#b']);

    const account = await accountAt(world.harness, browser);
    assert.deepEqual(
      [
        account.email,
        account.first_name,
        account.last_name,
        account.is_email_verified,
        account.has_password,
        account.has_social_auth,
      ],
      [email, 'Ada', 'Lovelace', true, false, true],
    );
    assert.deepEqual(await membersOf(home), [`${email} 1`, `${home.user.email} 15`]);
    const session = await world.harness.request('GET', '/api/sessions/@current/', {
      headers: sessionOf(browser),
    });
    assert.equal(session.body.method, 'saml');
    // As long as the provider says, which is less than ours.
    assert.equal(Date.parse(session.body.expires_at), world.clock.now() + 480 * 60_000);
    assert.deepEqual((await logOf(home.organization.id)).at(-1), {
      what: 'member joined',
      user_email: email,
    });
    assert.deepEqual(await logOf(account.uuid), [{ what: 'session created', user_email: email }]);

    assert.equal((await signInBySaml(world, openNavigator(world.harness))).status, 303);
    assert.equal(
      (await logOf(home.organization.id)).filter(({ what }) => what === 'member joined').length,
      1,
    );
    assert.equal((await logOf(account.uuid)).length, 2);
    const identities = await world.harness.deps.db.rows(
      sql`SELECT provider, subject FROM social_identities WHERE user_id = ${account.id}`,
    );
    assert.deepEqual(identities, [{ provider: `saml:${home.domain.id}`, subject: email }]);
  },
);

test(
  'a link on another site asks first, so that nobody ends in the account of who made the link; ' +
    'the way on is a link of ours',
  async () => {
    await world.newHome({ jit_provisioning_enabled: true });
    const path = `/login/saml/?${new URLSearchParams({ email: 'ada+"<b>@acme.example', next: '/account?a=1&b=2' }).toString()}`;
    for (const site of ['cross-site', 'same-site']) {
      const asked = await world.harness.request('GET', path, {
        headers: { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate' },
      });
      assert.deepEqual(
        [asked.status, asked.headers['set-cookie'], asked.headers['location']],
        [200, undefined, undefined],
      );
      assert.ok(shownIn(asked).includes('acme.example'));
      const onward = /href="(\/login\/saml\/[^"]*)"/.exec(asked.text)![1]!.replaceAll('&amp;', '&');
      assert.deepEqual(
        [...new URL(onward, 'https://sluice.example').searchParams],
        [...new URL(path, 'https://sluice.example').searchParams],
      );
      for (const own of ['same-origin', 'none'])
        assert.equal(
          (await world.harness.request('GET', onward, { headers: { 'sec-fetch-site': own } }))
            .status,
          303,
        );
    }
  },
);

test('an account whose address only looks like the one that is vouched for is another account', async () => {
  // Unicode folds both to ASCII letters; mail to the first goes to another domain, to the second to
  // another mailbox.
  for (const [domain, stored] of [
    ['trio.example', 'ada@tr\u0130o.example'],
    ['trio.example', '\u212aate@trio.example'],
  ] as const) {
    const home = await world.newHome({ jit_provisioning_enabled: true }, domain);
    const person = await newPerson(world.harness, { email: stored });
    await verify(person.id);
    const vouched = stored.replace('\u0130', 'i').replace('\u212a', 'k');
    const browser = openNavigator(world.harness);
    assert.equal((await signInBySaml(world, browser, vouched)).status, 303);
    assert.notEqual((await accountAt(world.harness, browser)).uuid, person.uuid);
    assert.deepEqual(await membersOf(home), [`${vouched} 1`, `${home.user.email} 15`]);
    await world.harness.deps.db.run(sql`DELETE FROM users WHERE id = ${person.id}`);
  }
});

test('an assertion that lasts until the end of time is taken, once', async () => {
  const home = await world.newHome({ jit_provisioning_enabled: true });
  const end = '9999-12-31T23:59:59.999Z';
  const changes = {
    assertion_id: '_endless',
    not_on_or_after: end,
    confirmed_not_on_or_after: end,
    session_not_on_or_after: end,
  };
  const [first, second] = [openNavigator(world.harness), openNavigator(world.harness)];
  assert.equal((await respond(first, genuine(world, await beginSaml(first), changes))).status, 303);
  assert.equal((await accountAt(world.harness, first)).email, email);
  await assertRefused(
    world,
    second,
    await respond(second, genuine(world, await beginSaml(second), changes)),
    'assertion_used',
  );
  assert.equal((await membersOf(home)).length, 2);
});

test('the longest NameID that is taken is kept', async () => {
  await world.newHome({ jit_provisioning_enabled: true });
  const browser = openNavigator(world.harness);
  // Random, so that the index cannot press it together.
  const name_id = Array.from({ length: 512 }, () =>
    String.fromCodePoint(0x4e00 + Math.floor(Math.random() * 0x5000)),
  ).join('');
  const attributes = { email };
  assert.equal(
    (await respond(browser, genuine(world, await beginSaml(browser), { name_id, attributes })))
      .status,
    303,
  );
  assert.equal((await accountAt(world.harness, browser)).email, email);
});

test(
  'without JIT a stranger is refused, and an open invite lets them in with its level and is ' +
    'used up',
  async () => {
    const home = await world.newHome();
    const browser = openNavigator(world.harness);
    await assertRefused(world, browser, await signInBySaml(world, browser), 'no_account');
    assert.equal(
      (await world.harness.deps.db.row<{ count: number }>(
        sql`SELECT count(*) AS count FROM users WHERE email = ${email}`,
      ))!.count,
      0,
    );

    await invite(home, 8);
    assert.equal((await signInBySaml(world, browser)).status, 303);
    assert.deepEqual(await membersOf(home), [`${email} 8`, `${home.user.email} 15`]);
    const list = await world.harness.request(
      'GET',
      `/api/organizations/${home.organization.id}/invites/`,
      { key: home.key },
    );
    assert.equal(list.body.count, 0);
  },
);

test('an invite that has expired lets nobody in, and with JIT it gives no level', async () => {
  const home = await world.newHome();
  await invite(home, 15);
  await world.harness.deps.db.run(
    sql`UPDATE invites SET sent_at =
      ${new Date(world.clock.now() - 4 * 86_400_000).toISOString()}::timestamptz`,
  );
  const browser = openNavigator(world.harness);
  await assertRefused(world, browser, await signInBySaml(world, browser), 'no_account');
  await changeDomain(world, home, { jit_provisioning_enabled: true });
  assert.equal((await signInBySaml(world, browser)).status, 303);
  assert.deepEqual(await membersOf(home), [`${email} 1`, `${home.user.email} 15`]);
});

test('an invite of another organization gives an account, and the person still has to accept it', async () => {
  const home = await world.newHome();
  const other = { ...(await world.harness.newOrganization()), domain: home.domain };
  await invite(other, 8);
  const browser = openNavigator(world.harness);
  assert.equal((await signInBySaml(world, browser)).status, 303);
  assert.deepEqual((await accountAt(world.harness, browser)).organizations, []);
  const list = await world.harness.request(
    'GET',
    `/api/organizations/${other.organization.id}/invites/`,
    { key: other.key },
  );
  assert.equal(
    (
      await world.harness.request('POST', `/api/invites/${list.body.results[0].id}/accept/`, {
        headers: sessionOf(browser),
        body: {},
      })
    ).status,
    201,
  );
});

const accounts: {
  name: string;
  verified: boolean;
  member?: boolean;
  elsewhere?: boolean;
  jit?: boolean;
  invited?: boolean;
  refused?: string;
  level?: number;
}[] = [
  { name: 'a member', verified: true, member: true, level: 15 },
  { name: 'a member whose address was never verified', verified: false, member: true, level: 15 },
  { name: 'a verified account joins with JIT', verified: true, jit: true, level: 1 },
  { name: 'a verified account joins with an invite', verified: true, invited: true, level: 8 },
  {
    name: 'a verified account of another organization signs in without joining',
    verified: true,
    elsewhere: true,
  },
  { name: 'a verified account of no organization', verified: true, refused: 'not_a_member' },
  {
    name: 'an account whose address was never verified does not join with JIT',
    verified: false,
    jit: true,
    refused: 'account_unverified',
  },
  {
    name: 'an account whose address was never verified does not join with an invite',
    verified: false,
    invited: true,
    refused: 'account_unverified',
  },
  {
    name: 'an unverified account of another organization',
    verified: false,
    elsewhere: true,
    refused: 'account_unverified',
  },
];
for (const {
  name,
  verified,
  member,
  elsewhere,
  jit = false,
  invited,
  refused,
  level,
} of accounts) {
  test(`an account that exists: ${name}`, async () => {
    const home = await world.newHome({ jit_provisioning_enabled: jit });
    const person = await newPerson(world.harness, { email: 'Ada@acme.example' });
    if (verified) await verify(person.id);
    const join = (organization_id: string) =>
      world.harness.deps.db.run(
        sql`INSERT INTO members (id, organization_id, user_id, level)
          VALUES (${crypto.randomUUID()}, ${organization_id}, ${person.id}, 15)`,
      );
    if (member === true) await join(home.organization.id);
    if (elsewhere === true) await join((await world.harness.newOrganization()).organization.id);
    if (invited === true) await invite(home, 8);
    const browser = openNavigator(world.harness);
    const answer = await signInBySaml(world, browser);
    if (refused !== undefined) return assertRefused(world, browser, answer, refused);
    assert.equal(answer.status, 303, answer.text);
    const account = await accountAt(world.harness, browser);
    assert.deepEqual(
      [account.id, account.is_email_verified, account.has_password],
      [person.id, verified, true],
    );
    assert.deepEqual(
      await membersOf(home),
      level === undefined
        ? [`${home.user.email} 15`]
        : [`Ada@acme.example ${level}`, `${home.user.email} 15`],
    );
  });
}

test('an account that is deactivated is refused', async () => {
  await world.newHome({ jit_provisioning_enabled: true });
  const browser = openNavigator(world.harness);
  assert.equal((await signInBySaml(world, browser)).status, 303);
  await world.harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE email = ${email}`);
  const later = openNavigator(world.harness);
  await assertRefused(world, later, await signInBySaml(world, later), 'inactive');
});

test('the same response ten times at once makes one session', async () => {
  await world.newHome({ jit_provisioning_enabled: true });
  const browser = openNavigator(world.harness);
  const xml = genuine(world, await beginSaml(browser));
  const answers = await Promise.all(Array.from({ length: 10 }, () => postResponse(browser, xml)));
  const led = answers.filter(({ status }) => status === 303);
  assert.deepEqual([led.length, answers.filter(({ status }) => status === 403).length], [1, 9]);
  assert.deepEqual(
    world.reasons(),
    Array.from({ length: 9 }, () => 'request_used'),
  );
  const ends = await Promise.all(
    Array.from({ length: 10 }, () => browser.go(led[0]!.headers['location']!)),
  );
  assert.deepEqual(ends.map(({ status }) => status).sort(), [
    303,
    ...Array.from({ length: 9 }, () => 403),
  ]);
  assert.deepEqual(
    world.reasons(),
    Array.from({ length: 9 }, () => 'other_browser'),
  );
  const { count } = (await world.harness.deps.db.row<{ count: number }>(
    sql`SELECT count(*) AS count FROM sessions s JOIN users u ON u.id = s.user_id
      WHERE u.email = ${email}`,
  ))!;
  assert.equal(count, 1);
});

test(
  'the first sign-ins of a person in several browsers at once make one account and one ' +
    'membership',
  async () => {
    const home = await world.newHome({ jit_provisioning_enabled: true });
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => signInBySaml(world, openNavigator(world.harness))),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      Array.from({ length: 6 }, () => 303),
    );
    assert.deepEqual(await membersOf(home), [`${email} 1`, `${home.user.email} 15`]);
  },
);

test('while certificates are changed either key signs in', async () => {
  const [old, next] = [testIdentityProvider('acme'), testIdentityProvider('other')];
  const home = await world.newHome({
    jit_provisioning_enabled: true,
    saml_x509_cert: `${old.certificate}\n${next.certificate}`,
  });
  const renewed = { ...old, private_key: next.private_key, certificate: next.certificate };
  for (const provider of [old, renewed]) {
    const browser = openNavigator(world.harness);
    assert.equal(
      (await respond(browser, genuine(world, await beginSaml(browser), {}, provider))).status,
      303,
    );
  }
  await changeDomain(world, home, { saml_x509_cert: next.certificate });
  const browser = openNavigator(world.harness);
  await assertRefused(
    world,
    browser,
    await respond(browser, genuine(world, await beginSaml(browser), {}, old)),
    'signature',
  );
  assert.equal(
    (await respond(browser, genuine(world, await beginSaml(browser), {}, renewed))).status,
    303,
  );
});
