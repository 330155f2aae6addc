import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Time for which a browser may keep the answer to a preflight: a day. Most keep it for two hours at
 * most.
 */
const preflight_seconds = 86_400;

/**
 * Lets pages of every site send and read the answer, errors too. Nothing here looks at cookies, so
 * that a page can do no more with its visitor's than without; SDKs ask for them all the same.
 */
export function allowPages(request: FastifyRequest, reply: FastifyReply): void {
  void reply.headers(pageHeaders(request.headers.origin));
}

/** The headers by which a page of this origin may read an answer. */
export function pageHeaders(origin: string | undefined): Record<string, string> {
  const headers = { 'cross-origin-resource-policy': 'cross-origin', vary: 'Origin' };
  // A program of a server asks for nothing of this.
  if (origin === undefined) return headers;
  return {
    ...headers,
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'retry-after, posthog-request-id',
    'access-control-allow-credentials': 'true',
  };
}

/** The answer to a preflight: every header that the page wants to send is allowed. */
export function answerPreflight(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const wanted = request.headers['access-control-request-headers'];
  return reply
    .header('access-control-allow-methods', 'GET, POST, OPTIONS')
    .header('access-control-allow-headers', wanted ?? 'content-type, authorization')
    .header('access-control-max-age', String(preflight_seconds))
    .header('cache-control', `public, max-age=${preflight_seconds}`)
    .send('');
}
