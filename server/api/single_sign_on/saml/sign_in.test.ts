import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { testIdentityProvider } from '../../../../test/saml/identity_provider.ts';
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
} from '../../../../test/factories/people/single_sign_on.ts';
import type { Home } from '../../../../test/factories/people/single_sign_on.ts';

const world = aroundTests(openSingleSignOn);

const email = 'ada@acme.example';
const logOf = (chain_id: string) =>
  world.harness.deps.db.rows<{ what: string; user_email: string | null }>(
    sql`SELECT scope || ' ' || activity AS what, user_email FROM activity
      WHERE chain_id = ${chain_id}::uuid ORDER BY number`,
  );
const membersOf = async (home: Home) =>
  (await home.ask('GET', `/api/organizations/${home.organization.id}/members/`)).body.results.map(
    (member: { user: { email: string }; level: number }) => `${member.user.email} ${member.level}`,
  );

test('the whole way from the provider to a session and the wanted page', async () => {
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
    `${world.harness.deps.config.public_url}/api/saml/metadata/` +
      `?organization=${home.organization.id}`,
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
});

test('a link on another site asks first, and then continues with a link of ours', async () => {
  await world.newHome({ jit_provisioning_enabled: true });
  const asked = { email: 'ada+"<b>@acme.example', next: '/account?a=1&b=2' };
  const path = `/login/saml/?${new URLSearchParams(asked).toString()}`;
  for (const site of ['cross-site', 'same-site']) {
    const asked = await world.harness.request('GET', path, {
      headers: { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate' },
    });
    assert.deepEqual(
      [asked.status, asked.headers['set-cookie'], asked.headers['location']],
      [200, undefined, undefined],
    );
    assert.ok(shownIn(asked).includes('acme.example'));
    const [, link] = /href="(login\/saml\/[^"]*)"/.exec(asked.text)!;
    const onward = `/${link!.replaceAll('&amp;', '&')}`;
    assert.deepEqual(
      [...new URL(onward, 'https://sluice.example').searchParams],
      [...new URL(path, 'https://sluice.example').searchParams],
    );
    for (const own of ['same-origin', 'none'])
      assert.equal(
        (await world.harness.request('GET', onward, { headers: { 'sec-fetch-site': own } })).status,
        303,
      );
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

test('the same response ten times at once creates one session', async () => {
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

test('concurrent first sign-ins of a person create one account and one membership', async () => {
  const home = await world.newHome({ jit_provisioning_enabled: true });
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => signInBySaml(world, openNavigator(world.harness))),
  );
  assert.deepEqual(
    answers.map(({ status }) => status),
    Array.from({ length: 6 }, () => 303),
  );
  assert.deepEqual(await membersOf(home), [`${email} 1`, `${home.user.email} 15`]);
});

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
  await changeDomain(home, { saml_x509_cert: next.certificate });
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
