import { readCertificates } from '../../platform/saml/certificates.ts';

/** The fields that together define an identity provider. */
export const saml_fields = ['saml_entity_id', 'saml_acs_url', 'saml_x509_cert'] as const;

/** Returns true if a field of the provider is empty. */
export function isUnset(field: string | null): boolean {
  return field === null || field === '';
}

/** Returns the fault of an identity provider's sign-in address; undefined for a valid one. */
export function refuseSignOnUrl(text: string): string | undefined {
  // A browser would remove invisible characters, and open another address than the displayed one.
  if (/[\s\p{C}]/u.test(text)) return 'Leave out the spaces, line breaks and control characters.';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    return 'Must be a URL that begins with https://.';
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    return 'Must begin with https://. Over http, anybody on the network could sign in as anybody.';
  if (url.username !== '' || url.password !== '')
    return (
      'Leave the user and the password out of the URL: every browser that signs in would see ' +
      'them.'
    );
  if (url.hash !== '')
    return 'Leave out the # and everything after it, which is not sent to the identity provider.';
  return undefined;
}

/** Returns the fault of the certificates; undefined if all are valid. */
export function refuseCertificates(text: string): string | undefined {
  const read = readCertificates(text);
  return 'detail' in read ? read.detail : undefined;
}

/** Returns when the last certificate expires, as an ISO instant; null without a certificate. */
export function certificatesExpireAt(text: string | null): string | null {
  const read = text === null ? undefined : readCertificates(text);
  if (read === undefined || 'detail' in read) return null;
  return read.certificates
    .map(({ not_after }) => not_after)
    .reduce((last, one) => (Date.parse(one) > Date.parse(last) ? one : last));
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
