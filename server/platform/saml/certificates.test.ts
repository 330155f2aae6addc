import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { readTestCertificate } from '../../../test/saml/identity_provider.ts';
import { readCertificates } from './certificates.ts';

const [acme, other, expired] = ['acme', 'other', 'expired'].map((name) =>
  readTestCertificate(`saml_${name}.crt`),
) as [string, string, string];
const key = readTestCertificate('saml_acme.key');
const bare = acme.replaceAll(/-----[A-Z ]+-----|\s/g, '');

function accepted(text: string) {
  const read = readCertificates(text);
  assert.ok('certificates' in read, JSON.stringify(read));
  return read.certificates;
}

test('a certificate is the same in any pasted form', () => {
  const forms = [
    acme,
    `\n\n  ${acme}\n`,
    acme.replaceAll('\n', '\r\n'),
    bare,
    bare.replaceAll(/.{64}/g, '$&\n'),
    acme.replaceAll(/(?<=[A-Za-z0-9+/=])\n(?=[A-Za-z0-9+/=])/g, ''),
    acme + acme,
  ];
  for (const form of forms) {
    assert.deepEqual(accepted(form), [
      {
        pem: new X509Certificate(acme).toString(),
        fingerprint_sha256: new X509Certificate(acme).fingerprint256,
        subject: 'O=Test, CN=acme identity provider',
        not_before: '2026-11-21T10:16:42.000000Z',
        not_after: '2126-10-28T10:16:42.000000Z',
      },
    ]);
  }
});

test('several certificates keep their order; an expired one says when it ended', () => {
  const read = accepted(`${expired}\n${other}${acme}`);
  assert.deepEqual(
    read.map(({ subject }) => subject),
    [
      'O=Test, CN=acme identity provider\\, expired',
      'O=Test, CN=other identity provider',
      'O=Test, CN=acme identity provider',
    ],
  );
  assert.equal(read[0]!.not_after, '2021-01-01T00:00:00.000000Z');
});

test('an unusable certificate is refused with advice, without a piece of the field', () => {
  const refused: [string, string, RegExp][] = [
    ['nothing', '', /not an X\.509 certificate/],
    ['words', 'certificate', /not an X\.509 certificate/],
    [
      'base64 of something else',
      Buffer.from('certificate').toString('base64'),
      /not an X\.509 certificate/,
    ],
    ['half a certificate', bare.slice(0, 400), /not an X\.509 certificate/],
    [
      'a certificate with bytes behind it',
      Buffer.concat([Buffer.from(bare, 'base64'), Buffer.from('x')]).toString('base64'),
      /not an X\.509 certificate/,
    ],
    [
      'a broken certificate behind a good one',
      `${acme}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
      /not an X\.509 certificate/,
    ],
    ['a private key', key, /private key/],
    ['a certificate with its private key', acme + key, /private key/],
    [
      'a public key',
      new X509Certificate(acme).publicKey.export({ type: 'spki', format: 'pem' }) as string,
      /not a certificate/,
    ],
    ['text around', `subject=acme\n${acme}`, /text outside/],
    ['a block that does not end', `${acme}-----BEGIN CERTIFICATE-----\n${bare}`, /text outside/],
    ['a key of 1024 bits', readTestCertificate('saml_weak.crt'), /1024 bits/],
    ['an elliptic key', readTestCertificate('saml_elliptic.crt'), /not RSA/],
    ['eleven certificates', acme.repeat(11), /more than 10/],
    ['more than 64 KiB', `${acme}${' '.repeat(65_536)}`, /65536 characters/],
  ];
  for (const [name, text, sentence] of refused) {
    const read = readCertificates(text);
    assert.ok('detail' in read, name);
    assert.match(read.detail, sentence, name);
    assert.ok(!read.detail.includes(bare.slice(10, 30)), name);
  }
});
