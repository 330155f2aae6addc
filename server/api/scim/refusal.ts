import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { apiErrorOf, noteError } from '../../platform/http/error_handler.ts';
import { noteSecurity } from '../../platform/http/security_log/note_security.ts';
import { isDatabaseError } from '../../platform/postgres/database.ts';

/** The media type of all answers to a directory (RFC 7644, 3.1). */
export const scim_type = 'application/scim+json';

/** Error types that a directory reads in addition to the status (RFC 7644, table 9). */
export type RefusalType =
  | 'invalidFilter'
  | 'invalidPath'
  | 'invalidSyntax'
  | 'invalidValue'
  | 'mutability'
  | 'uniqueness';

/** Ends a directory's request; `message` says what to do, and the directory shows it to people. */
export class ScimRefused extends Error {
  readonly status: number;
  readonly type: RefusalType | undefined;
  constructor(status: number, type: RefusalType | undefined, detail: string) {
    super(detail);
    this.name = 'ScimRefused';
    this.status = status;
    this.type = type;
  }
}

/** Returns the 400 for an invalid value. */
export function invalidValue(detail: string): ScimRefused {
  return new ScimRefused(400, 'invalidValue', detail);
}

/** Returns the 404 for an id that the directory cannot see. */
export function unknown(what: 'User' | 'Group', id: string): ScimRefused {
  return new ScimRefused(
    404,
    undefined,
    id === ''
      ? `Ask for ${what}s without a slash at the end.`
      : `The directory has no ${what} with the id ${id}.`,
  );
}

/** Answers every error in SCIM's form; the server's faults are logged. */
export function tellRefusal(
  { log }: Pick<Deps, 'log'>,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (error instanceof ScimRefused) {
    if (error.status === 403)
      noteSecurity(request, { event: 'right_refused', reason: 'directory' });
    return send(reply, error.status, error.message, error.type);
  }
  const known = apiErrorOf(error, request.routeOptions.bodyLimit);
  noteError(request, known);
  if (known !== error && (known.status >= 500 || isDatabaseError(error)))
    log.error({ err: error, request_id: request.id }, 'a request of a directory failed');
  const { status, headers, violations } = known;
  const [{ code, detail, attr }] = violations as [(typeof violations)[number]];
  const type =
    status !== 400 ? undefined : code === 'parse_error' ? 'invalidSyntax' : 'invalidValue';
  return send(reply.headers(headers), status, attr === null ? detail : `${attr}: ${detail}`, type);
}

function send(
  reply: FastifyReply,
  status: number,
  detail: string,
  type: RefusalType | undefined,
): FastifyReply {
  const schemas = ['urn:ietf:params:scim:api:messages:2.0:Error'];
  const told = { schemas, status: String(status), detail };
  return reply
    .code(status)
    .type(scim_type)
    .send(JSON.stringify(type === undefined ? told : { ...told, scimType: type }));
}
