import { randomBytes } from 'node:crypto';

/** A new nonce, which lets the style elements of one answer's page count and no others. */
export function createNonce(): string {
  return randomBytes(18).toString('base64');
}

/**
 * The headers of the page of the API reference, which asks the API in the name of whoever is signed
 * in: no other site may frame it, and all that it loads comes from this server. Its script creates
 * styles without a nonce.
 */
export const reference_headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'none'; " +
    "frame-ancestors 'none'; base-uri 'none'",
  'cache-control': 'no-cache',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
};

/**
 * The headers of a page of the docs. Its scripts, styles and search index are files of this server,
 * and small pictures stand in its styles.
 */
export const site_headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
    "font-src 'self'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; " +
    "base-uri 'none'",
  'cache-control': 'no-cache',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
};

/**
 * The headers of the console's page. Everything comes from this server and goes back to it, no
 * script stands in the page, and none is made of text. Style elements need the nonce; style
 * attributes in markup do not count, and what scripts set of an element's style needs no leave. The
 * address can hold a token, so it is told to no other site.
 */
export function consoleHeaders(nonce: string): Record<string, string> {
  return {
    'content-security-policy':
      `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; ` +
      "connect-src 'self'; img-src 'self'; font-src 'self'; form-action 'self'; " +
      "frame-ancestors 'none'; base-uri 'self'",
    'cache-control': 'no-cache',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  };
}
