import { isSecure } from './caller/session.ts';
import type { HttpContext } from './context.ts';

type Context = { config: Pick<HttpContext['config'], 'public_url'> };

/** A year, as browsers ask of a policy that is to last. */
const secure_seconds = 365 * 24 * 3_600;

/**
 * Headers of every answer. Where people reach the server over https, browsers come to its
 * host, and to hosts below it, over https alone from then on.
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
