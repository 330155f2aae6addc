import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { LakeRefused } from '../../engine/model/lake_catalog/refusal.ts';
import { apiErrorOf, noteError } from '../../platform/http/error_handler.ts';
import { ApiError } from '../../platform/http/errors.ts';
import { noteSecurity } from '../../platform/http/security_log/note_security.ts';
import { table_path } from './door.ts';

/** The error names of the specification, by status. */
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

/** Returns the body of an error, in the specification's form. */
export function errorText(code: number, type: string, message: string): string {
  return JSON.stringify({ error: { message, type, code } });
}

/**
 * Answers every error in the specification's form; the server's faults are logged. Guarantee: after
 * a 409, nothing was applied. A commit with an unknown end is a 500: clients then load the table
 * and look for their snapshot.
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
  // An ApiError was thrown before the commit; other errors may come from the commit itself.
  if (!(error instanceof ApiError) && known.status >= 500 && isCommit(request))
    return send(
      reply,
      500,
      'CommitStateUnknownException',
      'The server does not know whether the commit was applied. Load the table and look for your ' +
        'snapshot before you try again.',
    );
  const { headers, message } = known;
  // Sluice's own 409 means "try again", but clients read a 409 as a commit that lost to another
  // one.
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
