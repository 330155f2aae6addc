import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { LakeRefused } from '../../engine/model/lake_catalog/refusal.ts';
import { apiErrorOf, noteError } from '../../platform/http/error_handler.ts';
import { ApiError } from '../../platform/http/errors.ts';
import { noteSecurity } from '../../platform/http/security_log/note_security.ts';
import { table_path } from './door.ts';

/** The names of errors that clients know, by the status of ours. */
const types: Record<number, string> = {
  400: 'BadRequestException',
  401: 'NotAuthorizedException',
  403: 'ForbiddenException',
  404: 'NotFoundException',
  413: 'BadRequestException',
  415: 'BadRequestException',
  429: 'TooManyRequestsException',
  500: 'InternalServerError',
  503: 'ServiceUnavailableException',
};

/** The body of every error, as the specification has it. */
export function errorText(code: number, type: string, message: string): string {
  return JSON.stringify({ error: { message, type, code } });
}

/**
 * Answers whatever was thrown in the words of the specification; what is ours goes to the log.
 * Guarantee: a 409 says that nothing was applied. A commit whose end is unknown is a 500, which
 * clients take for that: they load the table and look for their snapshot.
 */
export function tellRefusal(
  { log }: Pick<Deps, 'log'>,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (error instanceof LakeRefused) {
    if (error.status === 403) noteSecurity(request, { event: 'right_refused', reason: 'lake' });
    return send(reply, error.status, error.type, error.message);
  }
  const known = apiErrorOf(error, request.routeOptions.bodyLimit);
  noteError(request, known);
  if (known !== error && known.status >= 500)
    log.error({ err: error, request_id: request.id }, 'a request to the catalog failed');
  // Refusals of ours are certain; other faults came while the store was at it.
  if (!(error instanceof ApiError) && known.status >= 500 && isCommit(request))
    return send(
      reply,
      500,
      'CommitStateUnknownException',
      'The server does not know whether the commit was applied. Load the table and look for your ' +
        'snapshot before you try again.',
    );
  const { headers, message } = known;
  // A conflict of ours asks to come back: to clients a 409 is a commit that another one overtook.
  const status = known.status === 409 ? 503 : known.status;
  const type = types[status] ?? 'BadRequestException';
  return send(reply.headers(headers), status, type, message);
}

function isCommit({ method, routeOptions: { url = '' } }: FastifyRequest): boolean {
  return method === 'POST' && (url === table_path || url.endsWith('/transactions/commit'));
}

function send(reply: FastifyReply, status: number, type: string, message: string): FastifyReply {
  return reply
    .code(status)
    .type('application/json')
    .send(errorText(status, type, message));
}
