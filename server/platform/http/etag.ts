import { hash } from 'node:crypto';
import type { DoneFuncWithErrOrRes, FastifyReply, FastifyRequest } from 'fastify';
import { preconditionFailed } from './errors.ts';

/** The strong entity tag of a body: equal texts have equal tags, different texts different ones. */
export function etagOf(text: string): string {
  return `"${hash('sha256', text, 'base64url').slice(0, 27)}"`;
}

/**
 * Puts the `ETag` on an answer and turns a GET whose `If-None-Match` has it
 * into a 304 without a body.
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
  // An empty text and not null: Fastify's own HEAD routes take null for a stream.
  done(null, '');
}

/** True when `If-None-Match` says that the client has what the tag stands for. */
export function isKnown({ headers }: FastifyRequest, tag: string): boolean {
  const wanted = headers['if-none-match'];
  return (
    wanted !== undefined &&
    tagsOf(wanted).some((one) => one === '*' || one.replace(/^W\//, '') === tag)
  );
}

/**
 * Throws 412 when the request has an `If-Match` that names neither `*` nor the tag of `record`,
 * which is the record exactly as a GET answers it. The caller holds a lock on the record, so nobody
 * changes it between this look and the change.
 */
export function ifMatch(request: FastifyRequest, record: unknown): void {
  if (!showsMatch(request)) return;
  const wanted = request.headers['if-match']!;
  const tag = etagOf(JSON.stringify(record));
  if (!tagsOf(wanted).some((one) => one === '*' || one === tag)) throw preconditionFailed();
}

/**
 * Does the request say which version of the record it is meant for? Throws on a POST whose route
 * does not declare `if_match`: its 412 would stand in no document.
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
