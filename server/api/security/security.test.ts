import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import { aroundTests } from '../../../test/around_tests.ts';
import { openDomainWorld } from '../../../test/factories/people/domains.ts';
import { addMember } from '../../../test/factories/people/members.ts';
import { newPerson, openBrowser } from '../../../test/factories/people/people.ts';
import type { Answer, TestOrganization } from '../../../test/harness.ts';

const world = aroundTests(openDomainWorld);

const pathOf = (home: TestOrganization) => `/api/organizations/${home.organization.id}/security/`;
const refusalOf = ({ status, body }: Answer) => `${status} ${body?.code}`;
const minute_ms = 60_000;

/** An organization whose owner is signed in, and a proved domain that enforces its provider. */
async function newHome() {
  const home = await world.harness.newOrganization();
  const owner = openBrowser(world.harness, await world.harness.newSession(home.user));
  const domain = await world.prove(home, await world.claim(home));
  const provider = { saml_entity_id: 'urn:x', saml_acs_url: 'https://idp.example/' };
  await world.harness.deps.db.run(sql`UPDATE domains SET saml_entity_id = 'urn:x',
    saml_acs_url = ${provider.saml_acs_url}, saml_x509_cert = 'x', sso_enforcement = 'saml'
    WHERE id = ${domain.id}::uuid`);
  return { home, owner, domain, url: pathOf(home) };
}

/** A browser in which the domain's provider signed the person in. */
async function vouchedFor(user: { id: number }, domain: { id: string }) {
  const cookie = await world.harness.newSession(user);
  await world.harness.deps.db.run(sql`UPDATE sessions SET method = 'saml',
    domain_id = ${domain.id}::uuid WHERE user_id = ${user.id}`);
  return openBrowser(world.harness, cookie);
}

const defaults = {
  provider_is_second_factor: false,
  requires_sso: false,
  session_hours_max: null,
  idle_minutes_max: null,
  allowed_ip_ranges: [],
  accepted_providers: [],
  exempt_members: [],
};

test('owners change it, with a recent confirmation or a key of the scope', async () => {
  const { home, owner, url } = await newHome();
  const read = await owner.ask('GET', url);
  const { email, uuid } = home.user;
  assert.deepEqual(read.body, {
    ...defaults,
    outside_members: [{ uuid, email, is_exempt: false }],
  });
  const administrator = await world.harness.newMember(home.organization.id, 8);
  assert.equal((await administrator.ask('GET', url)).status, 200);
  const change = { session_hours_max: 8 };
  assert.equal(refusalOf(await administrator.ask('PATCH', url, change)), '403 permission_denied');
  const member = await world.harness.newMember(home.organization.id, 1);
  assert.equal(refusalOf(await member.ask('GET', url)), '403 permission_denied');
  const key = await world.harness.newKey(home.user, { scopes: ['organization:write'] });
  const limited = await world.harness.request('PATCH', url, { key, body: change });
  assert.equal(refusalOf(limited), '403 permission_denied');

  assert.equal((await owner.ask('PATCH', url, change)).body.session_hours_max, 8);
  const subject = 'The security settings of your organization were changed';
  const [mail] = await world.mailed(email, subject, 1);
  assert.match(mail!.content.text!, /the longest session/);
  world.goTo(world.now() + 11 * minute_ms);
  const late = await owner.ask('PATCH', url, { session_hours_max: 9 });
  assert.equal(refusalOf(late), '403 own_factor_required');
  const full = await world.harness.newKey(home.user, { scopes: ['organization_security:write'] });
  const changed = await world.harness.request('PATCH', url, {
    key: full,
    body: { session_hours_max: null },
  });
  assert.equal(changed.status, 200, changed.text);
});

test('the API refuses each faulty setting at its field', async () => {
  const { owner, url, domain } = await newHome();
  const answer = await owner.ask('PATCH', url, {
    session_hours_max: 0,
    idle_minutes_max: 1,
    allowed_ip_ranges: ['10.0.0.0/8', 'everywhere'],
    accepted_providers: [domain.domain, 'nowhere.example'],
    exempt_members: ['01a20369-c2a1-7143-a3f1-28eccfcceed9'],
  });
  assert.equal(answer.status, 400);
  assert.deepEqual(answer.body.errors.map(({ attr }: { attr: string }) => attr).toSorted(), [
    'accepted_providers__0',
    'accepted_providers__1',
    'allowed_ip_ranges__1',
    'exempt_members__0',
    'idle_minutes_max',
    'session_hours_max',
  ]);
  const shut = await owner.ask('PATCH', url, { allowed_ip_ranges: ['198.51.100.0/24'] });
  assert.match(shut.body.detail, /127\.0\.0\.1/);
});

test('an organization that asks for single sign-on opens to its provider', async () => {
  const { home, owner, url, domain } = await newHome();
  const outsider = await world.harness.newMember(home.organization.id, 8);
  const insider = await newPerson(world.harness, { email: `ada@${domain.domain}` });
  await addMember(world.harness.deps, home.organization.id, insider, 1);
  const members = `/api/organizations/${home.organization.id}/members/`;

  const shut = await owner.ask('PATCH', url, { requires_sso: true });
  assert.deepEqual([shut.status, shut.body.attr], [400, 'requires_sso']);
  const on = await owner.ask('PATCH', url, {
    requires_sso: true,
    exempt_members: [home.user.uuid],
  });
  assert.equal(on.status, 200, on.text);
  assert.deepEqual(
    on.body.outside_members.map(({ is_exempt }: { is_exempt: boolean }) => is_exempt).toSorted(),
    [false, true],
  );

  assert.equal(refusalOf(await outsider.ask('GET', members)), '403 sso_enforced');
  const by_password = openBrowser(world.harness, await world.harness.newSession(insider));
  assert.equal(refusalOf(await by_password.ask('GET', members)), '403 sso_enforced');
  assert.equal((await by_password.ask('GET', '/api/organizations/')).body.count, 0);
  assert.equal((await (await vouchedFor(insider, domain)).ask('GET', members)).status, 200);
  const key = await world.harness.newKey(insider);
  assert.equal((await world.harness.request('GET', members, { key })).status, 200);

  await owner.ask('PATCH', url, { exempt_members: [home.user.uuid, outsider.user.uuid] });
  assert.equal((await outsider.ask('GET', members)).status, 200);
});

test("the provider's sign-in counts as a second factor where that is said", async () => {
  const { home, owner, url, domain } = await newHome();
  await world.harness.giveSecondFactor(home.user);
  await owner.ask('PATCH', `/api/organizations/${home.organization.id}/`, { enforce_2fa: true });
  const insider = await newPerson(world.harness, { email: `ada@${domain.domain}` });
  await addMember(world.harness.deps, home.organization.id, insider, 1);
  const browser = await vouchedFor(insider, domain);
  const one = `/api/organizations/${home.organization.id}/`;
  assert.equal(refusalOf(await browser.ask('GET', one)), '403 second_factor_required');
  // A second factor that the account has counts once it was shown in the session.
  await world.harness.giveSecondFactor(insider);
  assert.equal(refusalOf(await browser.ask('GET', one)), '403 second_factor_required');
  const on = await owner.ask('PATCH', url, { provider_is_second_factor: true });
  assert.equal(on.status, 200, on.text);
  assert.equal((await browser.ask('GET', one)).status, 200);
  // Nobody vouches for who signs in with a password.
  const outsider = await newPerson(world.harness, { email: 'bob@elsewhere.example' });
  await addMember(world.harness.deps, home.organization.id, outsider, 1);
  const alone = openBrowser(world.harness, await world.harness.newSession(outsider));
  assert.equal(refusalOf(await alone.ask('GET', one)), '403 second_factor_required');
});

test("an accepted provider's sessions reach the organization of a member", async () => {
  const agency = await newHome();
  const client = await newHome();
  const consultant = await newPerson(world.harness, { email: `eve@${agency.domain.domain}` });
  await addMember(world.harness.deps, client.home.organization.id, consultant, 1);
  const browser = await vouchedFor(consultant, agency.domain);
  const one = `/api/organizations/${client.home.organization.id}/`;
  assert.equal(refusalOf(await browser.ask('GET', one)), '403 own_factor_required');
  const accepted = await client.owner.ask('PATCH', client.url, {
    accepted_providers: [agency.domain.domain],
  });
  assert.deepEqual(accepted.body.accepted_providers, [agency.domain.domain]);
  assert.equal((await browser.ask('GET', one)).status, 200);
  const agency_one = `/api/organizations/${agency.home.organization.id}/`;
  assert.equal(refusalOf(await browser.ask('GET', agency_one)), '404 not_found');
  await client.owner.ask('PATCH', client.url, { accepted_providers: [] });
  assert.equal(refusalOf(await browser.ask('GET', one)), '403 own_factor_required');
});

test('sessions last and rest as long as the strictest organization lets them', async () => {
  const { home, owner, url } = await newHome();
  await owner.ask('PATCH', url, { session_hours_max: 2, idle_minutes_max: 30 });
  const one = `/api/organizations/${home.organization.id}/`;
  for (const [minutes, count] of [
    [25, 4],
    [25, 1],
  ] as const) {
    const browser = openBrowser(world.harness, await world.harness.newSession(home.user));
    for (let request = 0; request < count; request += 1) {
      world.goTo(world.now() + minutes * minute_ms);
      assert.equal((await browser.ask('GET', one)).status, 200);
      await lastUseMoved(home.user);
    }
    const left = count === 4 ? 21 : 31;
    world.goTo(world.now() + left * minute_ms);
    assert.equal(refusalOf(await browser.ask('GET', one)), '401 authentication_failed');
  }
});

/** Waits until the newest session of the user was noted as used now. */
async function lastUseMoved(user: { id: number }): Promise<void> {
  const now = new Date(world.now()).toISOString();
  await eventually('The use of the session was not noted.', () =>
    world.harness.deps.db.row(sql`SELECT 1 FROM sessions
      WHERE user_id = ${user.id} AND last_used_at >= ${now}::timestamptz`),
  );
}

test('an organization is reached from its ranges, with keys and sessions', async () => {
  const { home, owner, url } = await newHome();
  const ranges = ['127.0.0.0/8', '2001:db8::/32'];
  assert.equal((await owner.ask('PATCH', url, { allowed_ip_ranges: ranges })).status, 200);
  const one = `/api/organizations/${home.organization.id}/`;
  assert.equal((await home.ask('GET', one)).status, 200);
  await world.harness.deps.db.run(sql`UPDATE organizations SET allowed_ip_ranges = '{10.0.0.0/8}'
    WHERE id = ${home.organization.id}::uuid`);
  for (const ask of [home.ask, owner.ask]) {
    const refused = await ask('GET', one);
    assert.equal(refusalOf(refused), '403 permission_denied');
    assert.match(refused.body.detail, /127\.0\.0\.1/);
  }
});
