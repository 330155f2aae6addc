import { hash } from 'node:crypto';
import type { DoneFuncWithErrOrRes, FastifyReply, FastifyRequest } from 'fastify';
import { preconditionFailed } from './errors.ts';

/**
 * Returns the strong entity tag of a body: equal texts have equal tags, different texts different
 * ones.
 */
export function etagOf(text: string): string {
  return `"${hash('sha256', text, 'base64url').slice(0, 27)}"`;
}

/**
 * Adds the `ETag` to an answer, and turns a GET with a matching `If-None-Match` into a 304 without
 * a body.
 */
export function tagAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: DoneFuncWithErrOrRes,
): void {
  if (typeof payload !== 'string' || (reply.statusCode !== 200 && reply.statusCode !== 201))
    return done(null, payload);
  const tag = reply.getHeader('etag') ?? etagOf(payload);
  reply.header('etag', tag);
  if (!isReading(request) || !isKnown(request, String(tag))) return done(null, payload);
  notModified(reply);
  // An empty text instead of null: Fastify's own HEAD routes take null for a stream.
  done(null, '');
}

/** Returns true if `If-None-Match` shows that the client has this version. */
export function isKnown({ headers }: FastifyRequest, tag: string): boolean {
  const wanted = headers['if-none-match'];
  return (
    wanted !== undefined &&
    tagsOf(wanted).some((one) => one === '*' || one.replace(/^W\//, '') === tag)
  );
}

/**
 * Throws a 412 if the request's `If-Match` names neither `*` nor the tag of `record`, which is the
 * record exactly as a GET returns it. The caller holds a lock on the record, so nobody changes it
 * between this check and the change.
 */
export function ifMatch(request: FastifyRequest, record: unknown): void {
  if (!showsMatch(request)) return;
  const wanted = request.headers['if-match']!;
  const tag = etagOf(JSON.stringify(record));
  if (!tagsOf(wanted).some((one) => one === '*' || one === tag)) throw preconditionFailed();
}

/**
 * Returns true if the request names the version of the record that it changes. Throws on a POST
 * whose route does not declare `if_match`, because its 412 would be undocumented.
 */
export function showsMatch(request: FastifyRequest): boolean {
  if (request.method === 'POST' && request.routeOptions.config.if_match !== true)
    throw new Error(`POST ${request.routeOptions.url} looks at If-Match and does not declare it.`);
  return request.headers['if-match'] !== undefined;
}

function notModified(reply: FastifyReply): void {
  reply.code(304);
  reply.removeHeader('content-type');
  reply.removeHeader('content-length');
}

function isReading(request: FastifyRequest): boolean {
  return request.method === 'GET' || request.method === 'HEAD';
}

function tagsOf(header: string): string[] {
  return header.split(',').map((one) => one.trim());
}
