import { ClickHouseError } from '@clickhouse/client';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PasswordsBusyError } from '../passwords/password.ts';
import { isDiskFull } from '../disk/full_disk.ts';
import { isOutOfFiles, out_of_files } from '../open_files.ts';
import { isDatabaseError } from '../postgres/database.ts';
import { StoreAwayError } from '../store_away.ts';
import { body_size_bytes_max } from './bodies/body.ts';
import type { HttpContext } from './context.ts';
import { allowPages } from './guards/cross_origin.ts';
import {
  ApiError,
  busy,
  errorBody,
  invalid,
  notFound,
  serverError,
  tooLarge,
  unavailable,
  unparsable,
  unsupportedMediaType,
} from './errors.ts';
import { noRoom } from './health/disk_full.ts';
import { noteSecurity } from './security_log/note_security.ts';

const problem_type = 'application/problem+json; charset=utf-8';
const network_codes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'EAI_AGAIN',
]);

/** Answers an error in the API's one body, with its status and headers. */
export function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  error: ApiError,
): FastifyReply {
  return reply
    .code(error.status)
    .headers({ ...error.headers, 'content-type': problem_type })
    .send(JSON.stringify(errorBody(error, request.id)));
}

/**
 * Converts every thrown error into an answer; details for the operator go to the log under the
 * request id.
 */
export function handleErrors(app: FastifyInstance, context: HttpContext): void {
  app.setErrorHandler((error: unknown, request, reply) => {
    const found = apiErrorOf(error, request.routeOptions.bodyLimit);
    // A missing path stays a 404, whatever type its body claims.
    const answer = request.is404 && found.status === 415 ? notFound() : found;
    if (answer !== error && (answer.status >= 500 || isDatabaseError(error)))
      context.log.error({ err: error, request_id: request.id }, 'a request failed');
    noteError(request, answer);
    return sendError(request, reply, answer);
  });
  app.setNotFoundHandler((request, reply) => sendNotFound(request, reply));
}

/**
 * Answers a path that does not exist. A page of any site may read this answer: an SDK with a wrong
 * address must learn of it.
 */
export function sendNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  allowPages(request, reply);
  return sendError(request, reply, notFound());
}

/** Records refusals in the security log: the error's own entry, and every 403. */
export function noteError(
  request: FastifyRequest,
  { refusal, status, violations }: ApiError,
): void {
  if (refusal !== undefined) noteSecurity(request, refusal);
  else if (status === 403)
    noteSecurity(request, { event: 'right_refused', reason: violations[0]!.code });
}

/**
 * Returns the answer to a fault: our own errors unchanged, the framework's by their meaning, the
 * database's by their class, everything else as a 500. `body_limit` is the route's, in bytes.
 */
export function apiErrorOf(error: unknown, body_limit: number = body_size_bytes_max): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof PasswordsBusyError) return busy();
  if (!(error instanceof Error)) return serverError();
  if (isOutOfFiles(error)) return unavailable(out_of_files);
  if (isDiskFull(error)) return noRoom();
  if (error instanceof StoreAwayError || isTooMuchNow(error)) return unavailable();
  if (isDatabaseError(error)) return databaseError(error.code);
  const { code, statusCode } = error as FastifyError;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return tooLarge(body_limit);
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return unsupportedMediaType('Send the body as "Content-Type: application/json" in UTF-8.');
  if (code === 'FST_ERR_BAD_URL' || code === 'FST_ERR_MAX_PARAM_LENGTH') return notFound();
  if (network_codes.has(code) || isLostConnection(error)) return unavailable();
  return statusCode !== undefined && statusCode >= 400 && statusCode < 500
    ? unparsable('The request could not be read.')
    : serverError();
}

/** The analytics store lacked time, memory or space for the query, which may succeed later. */
function isTooMuchNow(error: Error): boolean {
  const types = ['TIMEOUT_EXCEEDED', 'MEMORY_LIMIT_EXCEEDED', 'TOO_MANY_SIMULTANEOUS_QUERIES'];
  return error instanceof ClickHouseError && types.includes(error.type ?? '');
}

function databaseError(code: string): ApiError {
  // The same request may succeed later: 08 connection, 25006 a primary that became a standby, 25P03
  // waited too long in a transaction, 40 gave way to another one each time, 53 out of resources,
  // 55P03 lock timeout, 57P shut down by the operator.
  if (/^(08|25006|25P03|40|53|55P03|57P)/.test(code)) return unavailable();
  // 22 is data that a column cannot store: a last check behind the schemas, so that wrong input is
  // never a 500.
  return code.startsWith('22')
    ? invalid(null, 'invalid_input', 'A value in the request cannot be stored.')
    : serverError();
}

function isLostConnection(error: Error): boolean {
  const said = [
    'Connection terminated',
    'timeout exceeded when trying to connect',
    'Connection ended unexpectedly',
    // The message of `pg` for a session that the server ended in the middle of a transaction.
    'Client has encountered a connection error',
  ];
  return said.some((text) => error.message.startsWith(text));
}
