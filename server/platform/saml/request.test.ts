import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DOMParser } from '@xmldom/xmldom';
import { readLoginUrl, testIdentityProvider } from '../../../test/saml/identity_provider.ts';
import { serviceMetadata } from './metadata.ts';
import { createLoginRequest } from './request.ts';

const acme = testIdentityProvider('acme');
const provider = { sso_url: acme.sso_url, certificates: [acme.certificate] };
const service = {
  entity_id: 'https://sluice.example/saml/metadata/?a=1&b="2"',
  acs_url: 'https://sluice.example/complete/saml/',
};

test('the browser is sent to the provider with a request that names us and its id', async () => {
  const { url, request_id } = await createLoginRequest(provider, service, {
    relay_state: 'a b&c',
    service_name: 'A & "B"',
  });
  assert.ok(url.startsWith(`${acme.sso_url}?SAMLRequest=`));
  const { xml, ...request } = readLoginUrl(url);
  assert.deepEqual(request, {
    id: request_id,
    acs_url: service.acs_url,
    issuer: service.entity_id,
    relay_state: 'a b&c',
  });
  assert.match(request_id, /^_[0-9a-f]{40}$/);
  assert.notEqual((await createLoginRequest(provider, service)).request_id, request_id);
  const root = new DOMParser().parseFromString(xml, 'text/xml').documentElement!;
  assert.deepEqual(
    ['Version', 'Destination', 'ProviderName', 'ProtocolBinding', 'ForceAuthn'].map((name) =>
      root.getAttribute(name),
    ),
    ['2.0', acme.sso_url, 'A & "B"', 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST', null],
  );
  assert.match(
    xml,
    /<samlp:NameIDPolicy [^>]*Format="urn:oasis:names:tc:SAML:1\.1:nameid-format:emailAddress"/,
  );
  assert.ok(!xml.includes('RequestedAuthnContext'));
});

test('a provider whose address has a query of its own keeps it', async () => {
  const { url } = await createLoginRequest(
    { ...provider, sso_url: 'https://idp.example/sso?tenant=1' },
    service,
  );
  assert.deepEqual([...new URL(url).searchParams.keys()], ['tenant', 'SAMLRequest']);
  assert.equal(readLoginUrl(url).relay_state, null);
});

test('on demand the provider has to ask for the password again', async () => {
  const { url } = await createLoginRequest(provider, service, { force_authentication: true });
  assert.match(readLoginUrl(url).xml, / ForceAuthn="true"/);
});

test('a relay state that providers may cut is a fault', async () => {
  await createLoginRequest(provider, service, { relay_state: 'x'.repeat(80) });
  await assert.rejects(
    createLoginRequest(provider, service, { relay_state: 'é'.repeat(41) }),
    RangeError,
  );
});

test('the metadata names us and our address, asks for signed assertions, stays the same', () => {
  const xml = serviceMetadata(service);
  assert.equal(xml, serviceMetadata(service));
  const root = new DOMParser().parseFromString(xml, 'text/xml').documentElement!;
  assert.equal(root.getAttribute('entityID'), service.entity_id);
  const [descriptor] = root.getElementsByTagName('SPSSODescriptor');
  assert.deepEqual(
    ['WantAssertionsSigned', 'AuthnRequestsSigned'].map((name) => descriptor!.getAttribute(name)),
    ['true', 'false'],
  );
  const [consumer] = root.getElementsByTagName('AssertionConsumerService');
  assert.deepEqual(
    ['Location', 'Binding'].map((name) => consumer!.getAttribute(name)),
    [service.acs_url, 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST'],
  );
});
