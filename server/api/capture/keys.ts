import { isWriteKey } from '../../platform/http/caller/write_key.ts';
import { invalid, unauthenticated } from '../../platform/http/errors.ts';
import type { Sent } from './protocol.ts';

const query_names = ['api_key', 'token', 'writeKey', 'write_key'];

/**
 * Returns the keys that a request has outside of its body, in every place that SDKs use:
 * `Authorization` (Bearer, or the user of Basic), `X-Write-Key`, the query.
 */
export function shownKeys({ headers, query }: Pick<Sent, 'headers' | 'query'>): string[] {
  const [scheme = '', credentials = ''] = (headers.authorization ?? '').split(/ +/, 2);
  const shown = [headers.write_key, ...query_names.map((name) => query[name])];
  if (/^bearer$/i.test(scheme)) shown.push(credentials);
  if (/^basic$/i.test(scheme)) shown.push(Buffer.from(credentials, 'base64').toString('latin1'));
  return shown.flatMap((key) => (key === undefined || key === '' ? [] : [key]));
}

/**
 * Returns the write key of a request. Throws 401 for a missing, personal or malformed key, and 400
 * for two keys.
 */
export function oneKey(keys: unknown[]): string {
  // The password of Basic, and the secret that some SDKs send after a colon, are ignored.
  const shown = keys.flatMap((one) => (typeof one === 'string' ? one.split(':', 1) : []));
  const [key, ...others] = new Set(shown.filter((one) => one !== ''));
  if (key === undefined)
    throw unauthenticated(
      'not_authenticated',
      "Send the project's write key (slp_...) where the SDK puts its key.",
    );
  if (others.length > 0)
    throw invalid(null, 'invalid_input', 'All events of a request must have the same write key.');
  if (key.startsWith('slk_'))
    throw unauthenticated(
      'authentication_failed',
      'This is a personal API key (slk_...), which must never be in an SDK: delete it if it ' +
        'was published, and use a write key of the project (slp_...).',
    );
  if (!isWriteKey(key)) throw unknownKey();
  return key;
}

/** Returns the 401 for a key that matches no project. */
export function unknownKey() {
  return unauthenticated(
    'authentication_failed',
    'The write key is unknown, expired or revoked: take one from the settings of the project.',
  );
}
