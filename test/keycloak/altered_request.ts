import assert from 'node:assert/strict';
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/**
 * Returns the address of a sign-in as if another client had requested it, because requests are not
 * signed.
 */
export function askedBy(url: string, entity_id: string): string {
  return altered(url, /(<saml:Issuer[^>]*>)[^<]*/, entity_id);
}

/** Returns the address of a sign-in at another provider than the intended one. */
export function askedOf(url: string, sso_url: string): string {
  return `${sso_url}${new URL(altered(url, /(Destination=")[^"]*/, sso_url)).search}`;
}

function altered(url: string, place: RegExp, text: string): string {
  const asked = new URL(url);
  const packed = Buffer.from(asked.searchParams.get('SAMLRequest')!, 'base64');
  const request = inflateRawSync(packed).toString();
  const changed = request.replace(place, `$1${text}`);
  assert.notEqual(changed, request);
  asked.searchParams.set('SAMLRequest', deflateRawSync(changed).toString('base64'));
  return asked.href;
}
