import { isSecure } from '../caller/session.ts';
import type { HttpContext } from '../context.ts';

type Context = { config: Pick<HttpContext['config'], 'public_url'> };

/** A year, as browsers ask of a policy that is to last. */
const secure_seconds = 365 * 24 * 3_600;

/**
 * Returns headers of every answer. If people reach the server over https, browsers use https alone
 * from then on, for its host and for hosts below it.
 */
export function commonHeaders({ config }: Context): Record<string, string> {
  return {
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, no-cache',
    ...(isSecure(config.public_url)
      ? { 'strict-transport-security': `max-age=${secure_seconds}; includeSubDomains` }
      : {}),
  };
}
