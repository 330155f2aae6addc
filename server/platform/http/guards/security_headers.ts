import { isSecure } from '../caller/session.ts';
import type { HttpContext } from '../context.ts';

type Context = { config: Pick<HttpContext['config'], 'public_url'> };

/** A year, the minimum that browsers require for a permanent policy. */
const secure_seconds = 365 * 24 * 3_600;

/**
 * Returns headers of every answer. If the server's address is https, browsers then only use https
 * for its host and the hosts below it.
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
