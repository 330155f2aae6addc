import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTestCertificate } from '../../../test/saml/identity_provider.ts';
import { readProviderMetadata } from './provider_metadata.ts';

const [acme, other] = ['acme', 'other'].map((name) =>
  readTestCertificate(`saml_${name}.crt`).trim(),
) as [string, string];
const bare = (pem: string) => pem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
const key = (pem: string, use = ' use="signing"') =>
  `<KeyDescriptor${use}><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data>
    <ds:X509Certificate>\n${bare(pem)}\n</ds:X509Certificate></ds:X509Data></ds:KeyInfo>
  </KeyDescriptor>`;
const service = (binding: string, location: string) =>
  `<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:${binding}"
    Location="${location}"/>`;
const sso = 'https://idp.acme.test/sso?a=1&amp;b=2';
const services = service('HTTP-POST', 'https://idp.acme.test/post') + service('HTTP-Redirect', sso);
const role = (content: string) =>
  `<IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">${content}
  </IDPSSODescriptor>`;
const entity = (content: string, id = 'https://idp.acme.test/metadata') =>
  `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${id}">${content}
  </EntityDescriptor>`;
const list = (content: string) =>
  `<EntitiesDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata">${content}
  </EntitiesDescriptor>`;
const whole = entity(role(key(acme) + services));
const facts = {
  entity_id: 'https://idp.acme.test/metadata',
  sso_url: 'https://idp.acme.test/sso?a=1&b=2',
  certificates: acme,
};

test('metadata gives name, sign-on address and signing certificates', () => {
  const encryption = key(other, ' use="encryption"');
  const forms: [string, string][] = [
    ['plain', whole],
    [
      'with a declaration and a byte order mark',
      `\uFEFF<?xml version="1.0" encoding="UTF-8"?>${whole}`,
    ],
    ['with line ends of Windows', whole.replaceAll('\n', '\r\n')],
    ['with an encryption key', entity(role(encryption + key(acme) + services))],
    ['with a key for both uses', entity(role(key(acme, '') + services))],
    [
      'with a role of a service and an extension',
      entity(
        '<Extensions><x:y xmlns:x="urn:x"/></Extensions><SPSSODescriptor/>' +
          role(key(acme) + services),
      ),
    ],
    ['inside a list', list(whole)],
  ];
  for (const [name, text] of forms) assert.deepEqual(readProviderMetadata(text), facts, name);
  const rotating = readProviderMetadata(
    entity(role(key(acme) + key(other) + key(acme) + services)),
  );
  assert.deepEqual(rotating, { ...facts, certificates: `${acme}\n${other}` });
});

test('a text that is no safe metadata of one provider is refused with advice', () => {
  const bomb = `<!DOCTYPE a [<!ENTITY b "c">]>${whole.replace('acme.test/sso', '&b;')}`;
  const cases: [string, string, RegExp][] = [
    ['a document type with an entity', bomb, /has a DOCTYPE/],
    ['a comment inside', whole.replace('<IDP', '<!-- x --><IDP'), /a comment/],
    ['an external entity', whole.replace('https://idp.acme.test/post', '&file;'), /an entity/],
    ['a page of a browser', '<html><body>Metadata</body></html>', /not the XML/],
    ['words', 'https://idp.acme.test/metadata', /not the XML/],
    ['half of it', whole.slice(0, -40), /not the XML/],
    ['very deep XML', '<a>'.repeat(50) + '</a>'.repeat(50), /too large/],
    ['the metadata of a service', entity('<SPSSODescriptor/>'), /no identity provider/],
    ['two providers', list(whole + whole), /several identity providers/],
    ['no name', entity(role(key(acme) + services), ''), /no entity id/],
    [
      'no binding for redirects',
      entity(role(key(acme) + service('HTTP-POST', 'https://idp.acme.test/post'))),
      /HTTP-Redirect/,
    ],
    ['no certificate', entity(role(services)), /no signing certificate/],
    [
      'another namespace',
      whole.replace('urn:oasis:names:tc:SAML:2.0:metadata', 'urn:other'),
      /not the XML/,
    ],
    [
      'an elliptic key',
      entity(role(key(readTestCertificate('saml_elliptic.crt')) + services)),
      /RSA/,
    ],
  ];
  for (const [name, text, words] of cases) {
    const read = readProviderMetadata(text);
    assert.ok('detail' in read, name);
    assert.match(read.detail, words, name);
    assert.doesNotMatch(read.detail, /acme/, name);
  }
});
