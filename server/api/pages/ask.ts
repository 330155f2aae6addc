import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { ApiError } from '../../platform/http/errors.ts';
import type { Problem } from '../../platform/http/responses.ts';
import { sessionTokenOf } from '../../platform/http/caller/session.ts';
import type { AccountRow } from '../users/schema.ts';

/** Statuses under which a page has something of its own to say. */
type Foreseen = 401 | 404;

/**
 * What the API answers the browser that asks for a page: with its cookie and from its address, so a
 * page shows what a client would see and counts as its requests do. Gives undefined for a foreseen
 * refusal, and throws every other one as the `ApiError` that it is. A cookie that the answer sets
 * goes to the browser.
 */
export async function ask<Answer>(
  request: FastifyRequest,
  reply: FastifyReply,
  path: string,
  foreseen: Foreseen,
): Promise<Answer | undefined> {
  const { cookie } = request.headers;
  const answer = await request.server.inject({
    method: 'GET',
    url: path,
    remoteAddress: request.ip,
    headers: { 'x-request-id': request.id, ...(cookie === undefined ? {} : { cookie }) },
  });
  const set = answer.headers['set-cookie'];
  if (set !== undefined) void reply.header('set-cookie', set);
  if (answer.statusCode === 200) return answer.json<Answer>();
  if (answer.statusCode === foreseen) return undefined;
  const { type, errors } = answer.json<Static<typeof Problem>>();
  const wait = answer.headers['retry-after'];
  throw new ApiError(
    answer.statusCode,
    type,
    errors,
    wait === undefined ? {} : { 'retry-after': wait },
  );
}

/** The account of who is signed in at the browser; undefined when nobody is. */
export async function askAccount(
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<AccountRow | undefined> {
  return sessionTokenOf(request) === undefined
    ? undefined
    : ask<AccountRow>(request, reply, '/api/users/@me/', 401);
}
