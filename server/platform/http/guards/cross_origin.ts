import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Time for which a browser may cache the answer to a preflight: a day. Most cache it for two hours
 * at most.
 */
const preflight_seconds = 86_400;

/**
 * Allows pages of every site to send requests and read the answers, including errors. Nothing here
 * reads cookies, so a page gains nothing from its visitor's; SDKs send them anyway.
 */
export function allowPages(request: FastifyRequest, reply: FastifyReply): void {
  void reply.headers(pageHeaders(request.headers.origin));
}

/** Returns the headers that let a page of this origin read an answer. */
export function pageHeaders(origin: string | undefined): Record<string, string> {
  const headers = { 'cross-origin-resource-policy': 'cross-origin', vary: 'Origin' };
  // A server-side program needs none of them.
  if (origin === undefined) return headers;
  return {
    ...headers,
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'retry-after, posthog-request-id',
    'access-control-allow-credentials': 'true',
  };
}

/** Answers a preflight: every requested header is allowed. */
export function answerPreflight(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const wanted = request.headers['access-control-request-headers'];
  return reply
    .header('access-control-allow-methods', 'GET, POST, OPTIONS')
    .header('access-control-allow-headers', wanted ?? 'content-type, authorization')
    .header('access-control-max-age', String(preflight_seconds))
    .header('cache-control', `public, max-age=${preflight_seconds}`)
    .send('');
}
