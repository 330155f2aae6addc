import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { addMember } from '../../../../test/factories/people/members.ts';
import {
  codeOf,
  newPerson,
  openBrowser,
  password,
  setUpSecondFactor,
  signedIn,
} from '../../../../test/factories/people/people.ts';
import type { TestBrowser } from '../../../../test/factories/people/people.ts';
import {
  changeDomain,
  openNavigator,
  openSingleSignOn,
  sessionOf,
  signInBySaml,
} from '../../../../test/factories/people/single_sign_on.ts';
import type { Answer } from '../../../../test/harness.ts';

// A provider that one organization configures opens that organization, and no other.
const world = aroundTests(openSingleSignOn);

const email = 'vera@acme.example';

/** A browser in which the provider has just signed Vera in. */
async function newBrowser(): Promise<TestBrowser> {
  const navigator = openNavigator(world.harness);
  assert.equal((await signInBySaml(world, navigator, email)).status, 303);
  return openBrowser(world.harness, sessionOf(navigator).cookie);
}

/** The organizations that the account shows in the browser. */
async function reachOf(browser: TestBrowser): Promise<string[]> {
  const { body } = await browser.ask('GET', '/api/users/@me/');
  return body.organizations.map(({ id }: { id: string }) => id);
}

const refusalOf = ({ status, body }: Answer) => `${status} ${body?.code}`;
const closed = '403 own_factor_required';

/** Vera, owner of an organization of her own, and a stranger's organization with her domain. */
async function newVictim({ has_second_factor = false } = {}) {
  const stranger = await world.newHome({ jit_provisioning_enabled: true });
  const victim = await world.harness.newOrganization();
  const vera = await newPerson(world.harness, { email });
  await world.harness.deps.db.run(
    sql`UPDATE users SET is_email_verified = true WHERE id = ${vera.id}`,
  );
  await addMember(world.harness.deps, victim.organization.id, vera, 15);
  const secret = has_second_factor
    ? (await setUpSecondFactor(world.harness, await signedIn(world.harness, vera))).secret
    : undefined;
  return { stranger, victim, vera, secret };
}

test("a stranger's provider opens the stranger's organization alone", async () => {
  const { stranger, victim, vera } = await newVictim();
  const browser = await newBrowser();
  assert.deepEqual(await reachOf(browser), [stranger.organization.id]);

  const base = `/api/organizations/${victim.organization.id}/`;
  for (const path of [base, `${base}members/`, `${base}projects/`, `${base}domains/`])
    assert.match(refusalOf(await browser.ask('GET', path)), /^(?:403 own_factor_required|404 )/);
  assert.equal(refusalOf(await browser.ask('GET', base)), closed);
  const project = `/api/projects/${victim.project.id}/`;
  assert.equal(refusalOf(await browser.ask('GET', project)), closed);
  assert.equal(refusalOf(await browser.ask('PATCH', project, { name: 'x' })), closed);
  const listed = await browser.ask('GET', '/api/projects/');
  assert.ok(!listed.text.includes(victim.organization.id));
  const current = await browser.ask('GET', '/api/organizations/@current/');
  assert.equal(current.body.id, stranger.organization.id);

  for (const [method, path, body] of [
    ['POST', '/api/organizations/', { name: 'Mine' }],
    ['PATCH', '/api/users/@me/', { first_name: 'Eve' }],
    ['POST', '/api/users/@me/email/', { email: 'eve@evil.example' }],
    ['POST', '/api/users/@me/password/', { new_password: 'velvet onion harbor 9' }],
    ['POST', '/api/users/@me/totp/', {}],
    ['DELETE', '/api/users/@me/', {}],
    ['GET', '/api/sessions/', undefined],
    ['DELETE', '/api/sessions/', undefined],
  ] as const)
    assert.equal(refusalOf(await browser.ask(method, path, body)), closed, `${method} ${path}`);
  assert.ok(await world.harness.deps.db.row(sql`SELECT 1 FROM users WHERE id = ${vera.id}`));
});

test('keys of such a session open what the session opens', async () => {
  const { stranger, victim, vera } = await newVictim();
  const own = await world.harness.newKey(vera);
  const browser = await newBrowser();
  const keys = '/api/personal_api_keys/';
  assert.equal((await browser.ask('GET', keys)).body.count, 0);
  const created = await browser.ask('POST', keys, { label: 'x', scopes: ['*'] });
  assert.equal(created.status, 201, created.text);
  assert.deepEqual(created.body.scoped_organizations, [stranger.organization.id]);
  const key = created.body.value;
  const members = `/api/organizations/${victim.organization.id}/members/`;
  assert.equal((await world.harness.request('GET', members, { key })).status, 404);
  assert.equal((await world.harness.request('GET', members, { key: own })).status, 200);
  for (const limits of [
    { scoped_organizations: [victim.organization.id] },
    { scoped_teams: [victim.project.id] },
  ])
    assert.equal(
      (await browser.ask('POST', keys, { label: 'x', scopes: ['*'], ...limits })).status,
      400,
    );
  const changed = await browser.ask('PATCH', `${keys}${created.body.id}/`, {
    scoped_organizations: [],
  });
  assert.deepEqual(changed.body.scoped_organizations, [stranger.organization.id]);
});

test('with password and second factor the session reaches the rest', async () => {
  const { victim, secret } = await newVictim({ has_second_factor: true });
  const browser = await newBrowser();
  // The provider is new to an account with a second factor: it opens nothing at all yet.
  assert.deepEqual(await reachOf(browser), []);
  const session = (await browser.ask('GET', '/api/sessions/@current/')).body;
  assert.deepEqual([session.awaits_factor, session.is_partial], [true, true]);
  const keys = await browser.ask('POST', '/api/personal_api_keys/', { label: 'x', scopes: ['*'] });
  assert.equal(refusalOf(keys), closed);

  const confirm = (body: object) => browser.ask('POST', '/api/sessions/@current/confirm/', body);
  assert.equal(refusalOf(await confirm({ password })), '400 required');
  assert.equal(refusalOf(await confirm({ code: '000000' })), '400 required');
  assert.equal(
    refusalOf(await confirm({ password: 'wrong horse', code: codeOf(secret!, world.clock.now()) })),
    '400 invalid_input',
  );
  assert.equal(refusalOf(await confirm({ password, code: '000000' })), '400 invalid_input');
  world.clock.pass(60_000);
  const confirmed = await confirm({ password, code: codeOf(secret!, world.clock.now()) });
  assert.equal(confirmed.status, 200, confirmed.text);
  assert.deepEqual([confirmed.body.awaits_factor, confirmed.body.is_partial], [false, false]);
  const base = `/api/organizations/${victim.organization.id}/`;
  assert.equal((await browser.ask('GET', base)).status, 200);
});

test('a provider is trusted with an account as it was set when the factor was shown', async () => {
  const { stranger, secret } = await newVictim({ has_second_factor: true });
  const first = await newBrowser();
  world.clock.pass(60_000);
  await first.ask('POST', '/api/sessions/@current/confirm/', {
    password,
    code: codeOf(secret!, world.clock.now()),
  });
  const again = await reachOf(await newBrowser());
  assert.deepEqual(again, [stranger.organization.id], 'joined by JIT only now');
  await changeDomain(stranger, { saml_acs_url: 'https://elsewhere.example/sso' });
  assert.deepEqual(await reachOf(await newBrowser()), []);
});

test('a sign-in by provider adds no password or second factor to an account', async () => {
  await world.newHome({ jit_provisioning_enabled: true });
  const browser = await newBrowser();
  for (const [path, body] of [
    ['passkeys/begin/', {}],
    ['totp/', {}],
    ['password/', { new_password: password }],
  ] as const) {
    const answer = await browser.ask('POST', `/api/users/@me/${path}`, body);
    assert.equal(answer.status, 403, path);
    assert.match(answer.body.detail, /request a link by mail/i);
  }
});
