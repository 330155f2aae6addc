import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import type { Deps } from '../../deps.ts';
import { isoInstant } from '../../platform/clock.ts';
import { conflict, forbidden, invalid, unauthenticated } from '../../platform/http/errors.ts';
import { countTry } from '../../platform/http/slowing.ts';
import type { Succeeded } from '../../platform/http/slowing.ts';
import { isPassword } from '../../platform/password.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { findIdentityById, useCode } from './store.ts';
import type { Identity } from './store.ts';

const fresh_ms = 10 * 60_000;

/** Who proved anew that it is him, and what is to be called once the change is committed. */
export type Confirmed = { user: Identity; succeeded: Succeeded };

/**
 * Lets pass whom a stolen session alone would not let pass: the person shows his password, or, when his account has none, has signed in less than ten minutes ago. Throws 400 for a
 * missing or wrong password, 403 for a session that is too old, 429 after too many tries.
 */
export async function confirmPerson({ db, clock }: Pick<Deps, 'db' | 'clock'>, request: FastifyRequest, given: string | undefined): Promise<Confirmed> {
  const { user_id, session_id } = request.caller;
  const user = await findIdentityById(db, user_id);
  if (user === undefined) throw unauthenticated('authentication_failed', 'The account has been closed.');
  if (user.password_hash === null) {
    const began_after = isoInstant(clock.now() - fresh_ms);
    if ((await db.row(sql`SELECT 1 FROM sessions WHERE id = ${session_id}::uuid AND created_at > ${began_after}::timestamptz`)) === undefined)
      throw forbidden('This account has no password, so this needs a fresh sign-in: sign in again, then repeat it within ten minutes.');
    return { user, succeeded: await countTry(request, user.address) };
  }
  if (given === undefined) throw invalid('current_password', 'required', 'This field is required.');
  const succeeded = await countTry(request, user.address);
  if (!(await isPassword(given, user.password_hash))) throw invalid('current_password', 'invalid_input', 'This is not the present password.');
  return { user, succeeded };
}

/** Holds the user as he was confirmed until the transaction ends. Throws 409 when his password was changed meanwhile: who did that may have ended this very session. */
export async function holdConfirmed(tx: Transaction, confirmed: Identity): Promise<Identity> {
  const user = await findIdentityById(tx, confirmed.id, 'lock');
  if (user === undefined || user.password_hash !== confirmed.password_hash)
    throw conflict('The account was changed at the same time: sign in again, then repeat it if it is still wanted.');
  return user;
}

/** Uses a code of the user's second factor up. Throws 400 for a wrong one and for one that was used before. */
export async function requireCode(tx: Transaction, { secrets, clock }: Pick<Deps, 'secrets' | 'clock'>, user: Identity, code: string): Promise<void> {
  const used = await useCode(tx, secrets, clock.now(), user, code);
  if (used === undefined)
    throw invalid('code', 'invalid_input', 'The code is wrong or was used before: send the one that the app shows now, or a recovery code.');
}
