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
 * The person who asks for an invite: with the token of its link, or with the account of its
 * address.
 */
export type Visitor = { caller: Person | undefined; token: string | undefined };

/**
 * The key's or session's person, if one is shown. A browser whose session has ended counts as
 * signed out, so that an old cookie is no obstacle to a sign-up; a wrong key is 401, and a service
 * key is 403.
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
 * The invite that the path names, for who shows the token of its present link or is signed in with
 * its address, verified. Throws 404, with the same words for an unknown id and a wrong token, and
 * counts it against the address that it comes from. `lock` as for `findInviteAnywhere`.
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

/** The address has to be verified: anybody can give an account somebody else's address. */
function isAddressee({ addressee }: InviteAnywhere, caller: Person | undefined): boolean {
  return addressee !== undefined && addressee.is_email_verified && addressee.id === caller?.user_id;
}
