import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openBrowser } from '../../../../test/factories/people/people.ts';
import {
  accountAt,
  beginSaml,
  genuine,
  openNavigator,
  openSingleSignOn,
  respond,
  sessionOf,
} from '../../../../test/factories/people/single_sign_on.ts';
import { readLoginUrl, testIdentityProvider } from '../../../../test/saml/identity_provider.ts';

// An administrator who enters a certificate of their own signs nobody in with it.
const world = aroundTests(openSingleSignOn);

const [acme, other] = [testIdentityProvider('acme'), testIdentityProvider('other')];

/** A home whose administrator has put the certificate of another key beside the standing one. */
async function newHome() {
  const home = await world.newHome({ jit_provisioning_enabled: true });
  const administrator = await world.harness.newMember(home.organization.id, 8);
  const url = `/api/organizations/${home.organization.id}/domains/${home.domain.id}/`;
  const saml_x509_cert = `${acme.certificate.trim()}\n${other.certificate.trim()}`;
  const set = await administrator.ask('PATCH', url, { saml_x509_cert });
  assert.deepEqual([set.status, set.body.pending_changes], [200, { saml_x509_cert }]);
  const owner = openBrowser(world.harness, await world.harness.newSession(home.user));
  return { home, administrator, owner, url };
}

/** Signs the owner's address in with the key of the administrator. */
async function attack() {
  const browser = openNavigator(world.harness);
  const request = await beginSaml(browser, 'boss@acme.example');
  const forged = { ...other, entity_id: acme.entity_id };
  await respond(browser, genuine(world, request, { email: 'boss@acme.example' }, forged));
  return accountAt(world.harness, browser);
}

test('a waiting certificate signs no one in, and one that an owner confirmed does', async () => {
  const { owner, url } = await newHome();
  world.reasons();
  assert.equal(await attack(), undefined);
  assert.deepEqual(world.reasons(), ['signature']);
  const confirmed = await owner.ask('POST', `${url}pending_changes/confirm/`, {});
  assert.equal(confirmed.status, 200, confirmed.text);
  assert.equal((await attack())!.email, 'boss@acme.example');
});

test('a test of the provider uses waiting settings, and signs no one in', async () => {
  const { administrator, url } = await newHome();
  const begun = await administrator.ask('POST', `${url}test_sign_in/`, {});
  assert.equal(begun.status, 200, begun.text);
  const browser = openNavigator(world.harness);
  const { public_url } = world.harness.deps.config;
  const led = await browser.go((begun.body.url as string).slice(public_url.length));
  const request = readLoginUrl(led.headers['location']!);
  const forged = { ...other, entity_id: acme.entity_id };
  const answer = await respond(browser, genuine(world, request, {}, forged));
  assert.match(answer.text, /The response is in order/);
  assert.deepEqual(sessionOf(browser), {});
});
