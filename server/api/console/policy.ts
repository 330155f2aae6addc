import { randomBytes } from 'node:crypto';

/** Creates a nonce that allows the style elements of one answer's page. */
export function createNonce(): string {
  return randomBytes(18).toString('base64');
}

/**
 * The headers of the API reference, whose page calls the API as the signed-in user. So no other
 * site may frame it, and it loads everything from this server. Its script creates styles without a
 * nonce.
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
 * and its styles contain small pictures.
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
 * The headers of the console's page. Everything comes from this server and goes to it. The page has
 * no inline script, and no script is evaluated from text. Style elements need the nonce, and style
 * attributes in markup are ignored; scripts may still set an element's style. The address may
 * contain a token, so no other site gets it as a referrer.
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
