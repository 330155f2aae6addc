import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { openDomainWorld } from '../../../test/factories/people/domains.ts';
import { readTestCertificate } from '../../../test/saml/identity_provider.ts';
import { providerMetadata } from '../../../test/saml/provider_metadata.ts';

const world = aroundTests(openDomainWorld);
const acme = readTestCertificate('saml_acme.crt').trim();
const metadata = (url: string) =>
  providerMetadata({ entity_id: 'urn:acme', url, certificate: acme });

test('the fields that metadata gives can be sent to the domain as they are', async () => {
  const home = await world.harness.newOrganization();
  const domain = await world.claim(home);
  const path = `/api/organizations/${home.organization.id}/domains/provider_metadata/`;
  const read = await home.ask('POST', path, { metadata: metadata('https://idp.acme.test/sso') });
  assert.deepEqual(read.body, {
    saml_entity_id: 'urn:acme',
    saml_acs_url: 'https://idp.acme.test/sso',
    saml_x509_cert: acme,
  });
  const changed = await world.change(home, domain, read.body);
  assert.deepEqual([changed.status, changed.body.has_saml], [200, true]);
  for (const text of ['http://idp.acme.test/sso', 'javascript:alert(1)']) {
    const refused = await home.ask('POST', path, { metadata: metadata(text) });
    assert.deepEqual([refused.status, refused.body.attr], [400, 'metadata']);
    assert.match(refused.body.detail, /^The sign-on URL in it is wrong\. Must /);
  }
});

test('only administrators of the organization have metadata read', async () => {
  const home = await world.harness.newOrganization();
  const stranger = await world.harness.newOrganization();
  const member = await world.harness.newMember(home.organization.id, 1);
  const path = `/api/organizations/${home.organization.id}/domains/provider_metadata/`;
  const body = { metadata: metadata('https://idp.acme.test/sso') };
  assert.equal((await member.ask('POST', path, body)).status, 403);
  assert.equal((await stranger.ask('POST', path, body)).status, 404);
});
