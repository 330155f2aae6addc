import type { FastifyRequest } from 'fastify';
import { isUuid } from '../../platform/uuid.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import type { Person } from '../../platform/http/caller/access.ts';
import { ApiError, notFound, throttled } from '../../platform/http/errors.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { isToken } from './link.ts';
import { findInviteAnywhere } from './store.ts';
import type { InviteAnywhere } from './store.ts';

/**
 * The person who requests an invite: with the token of its link, or with the account of its
 * address.
 */
export type Visitor = { caller: Person | undefined; token: string | undefined };

/**
 * Returns the person of the key or session, if there is one. A browser with an expired session
 * counts as signed out, so that an old cookie does not prevent a sign-up. A wrong key is 401, and a
 * service key is 403.
 */
export async function findPerson(request: FastifyRequest): Promise<Person | undefined> {
  try {
    const caller = await request.server.findCaller(request);
    return caller === undefined ? undefined : personOf({ caller });
  } catch (error) {
    if (
      error instanceof ApiError &&
      error.status === 401 &&
      request.headers.authorization === undefined
    )
      return undefined;
    throw error;
  }
}

/**
 * Returns the invite of the path, if the caller has the token of its current link, or its address
 * as a verified address. Throws the same 404 for an unknown id and a wrong token, and counts it
 * against the client's address. `lock` is that of `findInviteAnywhere`.
 */
export async function getInviteFor(
  request: FastifyRequest,
  db: Queryable,
  { caller, token }: Visitor,
  lock?: 'lock',
): Promise<InviteAnywhere> {
  const { clock, secrets } = request.server.context;
  const { id = '' } = request.params as { id?: string };
  const invite = isUuid(id) ? await findInviteAnywhere(db, id, clock.now(), lock) : undefined;
  if (
    invite !== undefined &&
    (token === undefined ? isAddressee(invite, caller) : isToken(secrets, invite, token))
  )
    return invite;
  const wait_seconds = request.server.limiter.takeRefused(request.ip);
  throw wait_seconds === undefined ? notFound() : throttled(wait_seconds);
}

/** The address must be verified, because anybody can enter another person's address. */
function isAddressee({ addressee }: InviteAnywhere, caller: Person | undefined): boolean {
  return addressee !== undefined && addressee.is_email_verified && addressee.id === caller?.user_id;
}
