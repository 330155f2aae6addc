import type { FastifyRequest } from 'fastify';
import type { HttpContext } from '../context.ts';
import { forbidden, notedAs } from '../errors.ts';

const safe_methods = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Throws 403 if the browser reports that a page of another site sends this change. Every browser
 * sends `Sec-Fetch-Site` or `Origin` with it; a client that sends neither is no browser and has no
 * cookies of somebody else. The cookie's SameSite is the second protection.
 */
export function refuseCrossSite(
  context: Pick<HttpContext, 'config'>,
  request: FastifyRequest,
): void {
  if (safe_methods.has(request.method)) return;
  const { origin } = request.headers;
  const site = request.headers['sec-fetch-site'];
  const own =
    site === undefined
      ? origin === undefined || isOwn(context, request, origin)
      : site === 'same-origin' || site === 'none';
  if (!own)
    throw notedAs(
      forbidden('A page of another site may not change anything here.'),
      'cross_site_refused',
      'cross_site',
    );
}

function isOwn(
  context: Pick<HttpContext, 'config'>,
  request: FastifyRequest,
  origin: string,
): boolean {
  if (origin === new URL(context.config.public_url).origin) return true;
  return URL.canParse(origin) && new URL(origin).host === request.headers.host;
}
