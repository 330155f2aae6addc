import { X509Certificate } from 'node:crypto';
import { isoInstant } from '../clock.ts';

/**
 * A certificate of an identity provider. `fingerprint_sha256` is upper-case hex with colons,
 * `subject` one line, `not_before` and `not_after` are ISO instants. It may be expired: SAML only
 * uses the key, and a provider that forgot to renew should not lock people out; the code that shows
 * it warns.
 */
export type Certificate = {
  pem: string;
  fingerprint_sha256: string;
  subject: string;
  not_before: string;
  not_after: string;
};

const characters_max = 64 * 1024;
const certificates_max = 10;
const subject_characters_max = 200;
const modulus_bits_min = 2048;
const modulus_bits_max = 8192;
const pem_block = /-----BEGIN ([A-Z0-9 ]{1,40})-----([^-]*)-----END \1-----/g;

class CertificateRefused extends Error {}

/**
 * Reads the certificates in a field: one or several PEM blocks, or one certificate as bare base64,
 * with or without line breaks. Guarantee of the result: 1 to 10 different X.509 certificates with
 * RSA keys of 2048 to 8192 bits, in the order of the field. Each PEM is created from the parsed
 * certificate. Otherwise returns a sentence with the needed change, without any part of the field.
 */
export function readCertificates(
  text: string,
): { certificates: Certificate[] } | { detail: string } {
  try {
    const certificates = splitField(text).map(readCertificate);
    const different = new Map(
      certificates.map((certificate) => [certificate.fingerprint_sha256, certificate]),
    );
    return { certificates: [...different.values()] };
  } catch (error) {
    if (error instanceof CertificateRefused) return { detail: error.message };
    throw error;
  }
}

/** Returns the base64 of each certificate in the field. */
function splitField(text: string): string[] {
  if (text.length > characters_max)
    throw new CertificateRefused(
      `The certificates have more than ${characters_max} characters. Paste at most ` +
        `${certificates_max}.`,
    );
  if (/PRIVATE KEY/i.test(text))
    throw new CertificateRefused(
      'This is a private key. Paste only the certificate, and replace the key at the identity ' +
        'provider: a private key must never leave it.',
    );
  const blocks = [...text.matchAll(pem_block)];
  if (blocks.length === 0) return [text];
  if (blocks.length > certificates_max)
    throw new CertificateRefused(
      `There are more than ${certificates_max} certificates. Remove the unused ones.`,
    );
  if (text.replaceAll(pem_block, '').trim() !== '')
    throw new CertificateRefused(
      'The field has text outside of the certificates. Keep only the parts from -----BEGIN ' +
        'CERTIFICATE----- to -----END CERTIFICATE-----.',
    );
  if (blocks.some(([, label]) => label !== 'CERTIFICATE'))
    throw new CertificateRefused(
      'A block is not a certificate. Each must begin with -----BEGIN CERTIFICATE-----.',
    );
  return blocks.map(([, , content]) => content!);
}

function readCertificate(content: string): Certificate {
  const plain = content.replaceAll(/\s/g, '');
  const bytes = Buffer.from(plain, 'base64');
  const parsed = plain !== '' && bytes.toString('base64') === plain ? parse(bytes) : undefined;
  // Bytes after the certificate would be ignored silently.
  if (parsed === undefined || parsed.raw.length !== bytes.length)
    throw new CertificateRefused(
      'This is not an X.509 certificate in PEM or base64 form. Copy it again from the ' +
        'identity provider.',
    );
  checkKey(parsed);
  return {
    pem: parsed.toString(),
    fingerprint_sha256: parsed.fingerprint256,
    subject: parsed.subject.replaceAll('\n', ', ').slice(0, subject_characters_max),
    not_before: isoInstant(parsed.validFromDate.getTime()),
    not_after: isoInstant(parsed.validToDate.getTime()),
  };
}

function parse(bytes: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(bytes);
  } catch {
    return undefined;
  }
}

function checkKey(certificate: X509Certificate): void {
  const { asymmetricKeyType, asymmetricKeyDetails } = certificate.publicKey;
  const bits = asymmetricKeyDetails?.modulusLength ?? 0;
  if (asymmetricKeyType !== 'rsa')
    throw new CertificateRefused(
      'The certificate has a key that is not RSA. Choose an RSA signing key of 2048 bits or ' +
        'more at the identity provider.',
    );
  if (bits < modulus_bits_min || bits > modulus_bits_max)
    throw new CertificateRefused(
      `The certificate's RSA key has ${bits} bits. Choose a signing key of ` +
        `${modulus_bits_min} to ${modulus_bits_max} bits at the identity provider.`,
    );
}
