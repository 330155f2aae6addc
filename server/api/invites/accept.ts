import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { Deps } from '../../deps.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import type { Person } from '../../platform/http/caller/access.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { refuseCrossSite } from '../../platform/http/caller/cross_site.ts';
import {
  forbidden,
  invalid,
  ownFactorRequired,
  unauthenticated,
} from '../../platform/http/errors.ts';
import { satisfying } from '../../platform/http/caller/scopes.ts';
import { inWriteTurn } from '../../platform/http/limits/owner_turns.ts';
import { write } from '../../platform/http/write.ts';
import type { Entry } from '../../platform/http/write.ts';
import { hashPassword } from '../../platform/passwords/password.ts';
import { newPasswordFault } from '../../platform/passwords/new_password.ts';
import { isDatabaseError } from '../../platform/postgres/database.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { findMember, joinOrganization } from '../members/store.ts';
import { deactivated_detail } from '../deactivation/store.ts';
import { startSession } from '../sessions/store.ts';
import { refuseEnforced } from '../domains/store.ts';
import { actorOf, insertUser } from '../users/store.ts';
import { findPerson, getInviteFor } from './found.ts';
import { Acceptance } from './schema.ts';
import { deleteInvite } from './store.ts';
import type { Addressee, InviteAnywhere } from './store.ts';

type NewAccount = { email: string; password_hash: string; first_name: string; last_name: string };

/**
 * Joins the organization of an invite with its level, with the signed-in account or a new one, and
 * deletes the invite. Guarantee: of concurrent acceptances one joins, and the others find no
 * invite. A new account, its membership and its session are created in one transaction.
 */
export async function acceptInvite(deps: Deps, request: FastifyRequest, reply: FastifyReply) {
  refuseCrossSite(request.server.context, request);
  const sent = body(request, Acceptance);
  const caller = await findPerson(request);
  const visitor = { caller, token: sent.token };
  // The activity entry also needs the caller's key or session.
  if (caller !== undefined) request.caller = caller;
  const seen = await getInviteFor(request, deps.db, visitor);
  refuse(seen, caller);
  // Hashing is slow, so it runs before anything is locked.
  const account = caller === undefined ? await newAccount(deps, seen, sent) : undefined;
  try {
    return await inWriteTurn(seen.organization.id, () =>
      write(request, reply, 201, async (tx, record, afterwards) => {
        const invite = await getInviteFor(request, tx, visitor, 'lock');
        refuse(invite, caller);
        const person = account === undefined ? invite.addressee! : await signUp(tx, account);
        const { organization, record: accepted } = invite;
        if (
          !(await joinOrganization(deps, { tx, afterwards }, organization, person, accepted.level))
        )
          throw invalid(null, 'invalid_input', 'You are already a member of this organization.');
        await deleteInvite(tx, accepted.id);
        if (account !== undefined)
          await startSession(tx, { request, reply, afterwards }, person, {
            method: 'password',
            shows_own_factor: true,
          });
        record(joinedEntry(invite, person, account !== undefined));
        return { organization, member: (await findMember(tx, organization.id, person.uuid))! };
      }),
    );
  } catch (error) {
    // Another request created an account with this address at the same time.
    if (isDatabaseError(error) && error.constraint === 'users_email_unique') throw signInFirst();
    throw error;
  }
}

function joinedEntry(
  { record, organization }: InviteAnywhere,
  person: Addressee,
  has_new_account: boolean,
): Entry {
  return {
    activity: 'joined',
    scope: 'member',
    item_id: person.uuid,
    item_name: person.email,
    changes: changesOf(undefined, { level: record.level, invite_id: record.id, has_new_account }),
    actor: actorOf(person),
    chain: { organization_id: organization.id },
  };
}

/** Throws if this caller cannot accept the invite. */
function refuse(
  { record, organization, addressee }: InviteAnywhere,
  caller: Person | undefined,
): void {
  if (caller !== undefined) {
    const accepted = satisfying('organization_member:write');
    if (!caller.scopes.some((scope) => accepted.has(scope)))
      throw forbidden('The API key lacks the scope organization_member:write.', 'scope');
    if (caller.session_id !== null) {
      if (caller.scoped_organizations?.includes(organization.id) === false)
        throw ownFactorRequired();
    } else if (caller.scoped_organizations !== null || caller.scoped_teams !== null)
      throw forbidden(
        'A key that is limited to organizations or projects cannot join another organization.',
      );
    if (addressee?.id !== caller.user_id)
      throw forbidden(
        'This invite is for another address: sign in with the account of that address, or ' +
          'sign out to create one.',
      );
    if (addressee.is_taken_out) throw forbidden(deactivated_detail);
  } else if (addressee !== undefined) {
    throw signInFirst();
  }
  if (record.is_expired)
    throw invalid(
      null,
      'expired',
      'This invite has expired, or its sender may no longer invite you: ask for a new one.',
    );
}

function signInFirst() {
  return unauthenticated(
    'not_authenticated',
    'An account with the address of this invite exists: sign in to it, then accept.',
  );
}

async function newAccount(
  deps: Deps,
  { record }: InviteAnywhere,
  { password, first_name = record.first_name, last_name = '' }: Static<typeof Acceptance>,
): Promise<NewAccount> {
  await refuseEnforced(deps, record.target_email);
  if (password === undefined) throw invalid('password', 'required', 'This field is required.');
  const fault = await newPasswordFault(password, [record.target_email, first_name, last_name]);
  if (fault !== undefined) throw invalid('password', 'invalid_input', fault);
  return {
    email: record.target_email,
    password_hash: await hashPassword(password),
    first_name,
    last_name,
  };
}

/**
 * The address stays unverified: the inviter knows the link too, so the person with the link need
 * not be the reader of the mail.
 */
async function signUp(tx: Transaction, account: NewAccount): Promise<Addressee> {
  const { id, uuid, email } = await insertUser(tx, account);
  return {
    id,
    uuid,
    email,
    name: `${account.first_name} ${account.last_name}`.trim(),
    is_email_verified: false,
  };
}
