import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { openDomainWorld } from '../../../test/factories/people/domains.ts';
import { openBrowser } from '../../../test/factories/people/people.ts';
import { testIdentityProvider } from '../../../test/saml/identity_provider.ts';
import type { Answer, TestOrganization } from '../../../test/harness.ts';

// A change of sign-in rules by a member below the owner waits for an owner.
const world = aroundTests(openDomainWorld);

const acme = testIdentityProvider('acme');
const provider = {
  saml_entity_id: acme.entity_id,
  saml_acs_url: acme.sso_url,
  saml_x509_cert: acme.certificate.trim(),
};
const anchors = { ...provider, jit_provisioning_enabled: true, sso_enforcement: 'saml' };

type Ask = (method: string, path: string, body?: unknown, headers?: object) => Promise<Answer>;

/** An owner, an administrator and a domain that is proved. */
async function newHome() {
  const home = await world.harness.newOrganization();
  const domain = await world.prove(home, await world.claim(home));
  const administrator = await world.harness.newMember(home.organization.id, 8);
  const url = `/api/organizations/${home.organization.id}/domains/${domain.id}/`;
  const owner = openBrowser(world.harness, await world.harness.newSession(home.user));
  return { home, domain, administrator, url, owner };
}

async function askWithKey(home: TestOrganization, scopes: string[]): Promise<Ask> {
  const key = await world.harness.newKey(home.user, { scopes });
  return (method, path, body) => world.harness.request(method, path, { key, body });
}

test('each anchor that an administrator or a limited key sets waits', async () => {
  const { home, administrator, url } = await newHome();
  for (const ask of [
    administrator.ask,
    await askWithKey(home, ['organization:write']),
    await askWithKey(home, ['organization:write', 'organization_security:write']),
  ]) {
    const answer = await ask('PATCH', url, anchors);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.body.pending_changes, {
      jit_provisioning_enabled: true,
      sso_enforcement: 'saml',
      ...provider,
    });
    const { has_saml, jit_provisioning_enabled, sso_enforcement, saml_entity_id } = answer.body;
    assert.deepEqual(
      [has_saml, jit_provisioning_enabled, sso_enforcement, saml_entity_id],
      [false, false, '', null],
    );
    assert.equal((await ask('DELETE', `${url}pending_changes/`)).status, 204);
    assert.equal((await ask('DELETE', `${url}pending_changes/`)).status, 409);
  }
});

test("an owner's full key, and a session with a recent factor, change at once", async () => {
  const { home, url, owner } = await newHome();
  const changed = await home.ask('PATCH', url, anchors);
  assert.deepEqual([changed.body.has_saml, changed.body.pending_changes], [true, null]);
  const off = await owner.ask('PATCH', url, { sso_enforcement: '' });
  assert.deepEqual([off.body.sso_enforcement, off.body.pending_changes], ['', null]);

  world.goTo(world.now() + 11 * 60_000);
  const late = await owner.ask('PATCH', url, { sso_enforcement: 'saml' });
  assert.deepEqual(
    [late.body.sso_enforcement, late.body.pending_changes],
    ['', { sso_enforcement: 'saml' }],
  );
});

test('an owner confirms what waits, signed in and with their own factor', async () => {
  const { home, administrator, url, owner } = await newHome();
  await administrator.ask('PATCH', url, provider);
  const waiting = await administrator.ask('PATCH', url, { jit_provisioning_enabled: true });
  const confirm = `${url}pending_changes/confirm/`;
  const refusalOf = ({ status, body }: Answer) => [status, body.code];
  assert.deepEqual(refusalOf(await administrator.ask('POST', confirm, {})), [
    403,
    'permission_denied',
  ]);
  assert.deepEqual(refusalOf(await home.ask('POST', confirm, {})), [403, 'permission_denied']);
  const match = { 'if-match': waiting.headers['etag']! };
  await administrator.ask('PATCH', url, { saml_entity_id: 'urn:other' });
  assert.deepEqual(refusalOf(await owner.ask('POST', confirm, {}, match)), [
    412,
    'precondition_failed',
  ]);
  const taken = await owner.ask('POST', confirm, {});
  assert.equal(taken.status, 200, taken.text);
  assert.deepEqual(
    [taken.body.saml_entity_id, taken.body.has_saml, taken.body.jit_provisioning_enabled],
    ['urn:other', true, true],
  );
  assert.equal(taken.body.pending_changes, null);
  assert.equal((await owner.ask('POST', confirm, {})).status, 409);

  await administrator.ask('PATCH', url, { jit_provisioning_enabled: false });
  world.goTo(world.now() + 11 * 60_000);
  assert.deepEqual(refusalOf(await owner.ask('POST', confirm, {})), [403, 'own_factor_required']);
});

test('a change that is undone waits no longer, nor does one that an owner makes', async () => {
  const { home, administrator, url } = await newHome();
  await home.ask('PATCH', url, provider);
  const one = await administrator.ask('PATCH', url, { saml_entity_id: 'urn:other' });
  assert.equal(one.body.pending_set_by, administrator.user.email);
  const back = await administrator.ask('PATCH', url, { saml_entity_id: acme.entity_id });
  assert.deepEqual([back.body.pending_changes, back.body.pending_set_by], [null, null]);

  await administrator.ask('PATCH', url, { saml_entity_id: 'urn:a', saml_acs_url: 'https://a.b/' });
  const own = await home.ask('PATCH', url, { saml_entity_id: 'urn:b' });
  assert.deepEqual(
    [own.body.saml_entity_id, own.body.pending_changes],
    ['urn:b', { saml_acs_url: 'https://a.b/' }],
  );
  const repeated = await administrator.ask('PATCH', url, { saml_acs_url: 'https://a.b/' });
  assert.equal(repeated.headers['etag'], own.headers['etag'], 'nothing changed');
});

test('a waiting change is refused as if it took effect', async () => {
  const { administrator, url } = await newHome();
  const lonely = await administrator.ask('PATCH', url, { sso_enforcement: 'saml' });
  assert.equal(lonely.status, 400, lonely.text);
  await administrator.ask('PATCH', url, provider);
  const together = await administrator.ask('PATCH', url, { sso_enforcement: 'saml' });
  assert.equal(together.status, 200, together.text);
  assert.equal((await administrator.ask('PATCH', url, { saml_acs_url: '' })).status, 400);
});

test('a domain that decides who signs in is deleted by an owner', async () => {
  const { home, administrator, url } = await newHome();
  await home.ask('PATCH', url, provider);
  const refused = await administrator.ask('DELETE', url);
  assert.deepEqual([refused.status, refused.body.code], [403, 'permission_denied']);
  const limited = await askWithKey(home, ['organization:write']);
  assert.equal((await limited('DELETE', url)).body.code, 'own_factor_required');
  assert.equal((await home.ask('DELETE', url)).status, 204);

  const other = await newHome();
  assert.equal((await other.administrator.ask('DELETE', other.url)).status, 204);
});

test('all owners are notified of each change, by any person', async () => {
  const { home, domain, administrator, url, owner } = await newHome();
  const { email } = home.user;
  await administrator.ask('PATCH', url, provider);
  const [waits] = await world.mailed(email, `A change of ${domain.domain} waits for you`, 1);
  const told = waits!.content.text!;
  assert.ok(told.includes(administrator.user.email), told);
  assert.ok(told.includes('the certificates of the identity provider'), told);
  await owner.ask('POST', `${url}pending_changes/confirm/`, {});
  const [changed] = await world.mailed(email, `The domain ${domain.domain} was changed`, 1);
  assert.match(changed!.content.text!, /In effect now: .*sign-on URL/);
  await home.ask('DELETE', url);
  await world.mailed(email, `The domain ${domain.domain} was deleted`, 1);
});
