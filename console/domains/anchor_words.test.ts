import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anchorWords } from './anchor_words.ts';
import type { AnchorField, AnchorValue } from './anchor_words.ts';

const pem = (body: string) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;

const cases: [AnchorField, AnchorValue, string][] = [
  ['jit_provisioning_enabled', true, 'Yes'],
  ['jit_provisioning_enabled', false, 'No'],
  ['sso_enforcement', '', 'None: any way works'],
  ['sso_enforcement', 'saml', 'Your provider'],
  ['sso_enforcement', 'google-oauth2', 'Google'],
  ['sso_enforcement', 'later', 'later'],
  ['saml_entity_id', null, 'Not set'],
  ['saml_acs_url', '', 'Not set'],
  ['saml_entity_id', 'urn:acme', 'urn:acme'],
  ['saml_x509_cert', null, 'Not set'],
  ['saml_x509_cert', 'MIIC\r\nabcdefghijklmnop', '1 certificate, ending with …efghijklmnop'],
  [
    'saml_x509_cert',
    pem('MIICabc\ndefghijklmnop') + pem('MIID0123456789ab'),
    '2 certificates, ending with …efghijklmnop and …0123456789ab',
  ],
];

test('a setting of a domain has words', () => {
  for (const [field, value, words] of cases) assert.equal(anchorWords(field, value), words);
});
