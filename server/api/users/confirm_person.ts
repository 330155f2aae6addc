import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import type { Static, TObject } from 'typebox';
import type { Deps } from '../../deps.ts';
import { isoInstant } from '../../platform/clock.ts';
import { body } from '../../platform/http/bodies/body.ts';
import {
  conflict,
  forbidden,
  invalid,
  notedAs,
  unauthenticated,
} from '../../platform/http/errors.ts';
import { countTry, forgiveTries } from '../../platform/http/caller/sign_in_throttle.ts';
import type { Effect } from '../../platform/http/write.ts';
import { isPassword } from '../../platform/passwords/password.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import type { Confirmation } from './schema.ts';
import { findIdentityById, useCode } from './store.ts';
import type { Identity } from './store.ts';

const fresh_ms = 10 * 60_000;

/**
 * Who proved anew that it is them, the checked body by which they did, and what is to be done once
 * the change is committed.
 */
type Confirmed<Given> = { user: Identity; given: Given; succeeded: Effect };

/**
 * Lets pass whom a stolen session alone would not let pass: the person shows their password, or,
 * when their account has none, has signed in less than ten minutes ago. Throws 400 that lists every
 * violation of the body, a missing password among them, 400 for a wrong one, 403 for a session that
 * is too old, 429 after too many tries. A right password is no failure; it ends the series of
 * failures of an account without a second factor only, because for the others it is not all that it
 * takes.
 */
export async function confirmPerson<
  Body extends TObject,
  BodyWithPassword extends typeof Confirmation.with_password,
>(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  request: FastifyRequest,
  wanted: { any: Body; with_password: BodyWithPassword },
): Promise<Confirmed<Static<Body> | Static<BodyWithPassword>>> {
  const user = await findIdentityById(db, request.caller.user_id);
  if (user === undefined)
    throw unauthenticated('authentication_failed', 'The account has been closed.');
  const { password_hash } = user;
  const succeeded = async () =>
    user.has_second_factor ? undefined : forgiveTries(request, user.address);
  if (password_hash === null) {
    const given = body(request, wanted.any);
    await refuseOldSession(db, request, clock.now());
    return { user, given, succeeded };
  }
  const given = body(request, wanted.with_password);
  return countTry(request, user.address, async (held) => {
    if (!(await isPassword(given.current_password, password_hash)))
      throw notedAs(
        invalid('current_password', 'invalid_input', 'This is not the present password.'),
        'confirmation_failed',
        'wrong_password',
      );
    held();
    return { user, given, succeeded };
  });
}

async function refuseOldSession(
  db: Queryable,
  { caller }: FastifyRequest,
  now_ms: number,
): Promise<void> {
  const began_after = isoInstant(now_ms - fresh_ms);
  const fresh = await db.row(
    sql`SELECT 1 FROM sessions WHERE id = ${caller.session_id}::uuid
      AND created_at > ${began_after}::timestamptz`,
  );
  if (fresh === undefined)
    throw forbidden(
      'This account has no password, so this needs a fresh sign-in: sign in again, then ' +
        'repeat it within ten minutes.',
      'old_session',
    );
}

/**
 * Holds the user as they were confirmed until the transaction ends. Throws 409 when their password
 * was changed meanwhile: who did that may have ended this very session.
 */
export async function holdConfirmed(tx: Transaction, confirmed: Identity): Promise<Identity> {
  const user = await findIdentityById(tx, confirmed.id, 'lock');
  if (user === undefined || user.password_hash !== confirmed.password_hash)
    throw conflict(
      'The account was changed at the same time: sign in again, then repeat it if it is still ' +
        'wanted.',
    );
  return user;
}

/**
 * Uses a code of the user's second factor up. Throws 400 for a wrong one and for one that was used
 * before.
 */
export async function requireCode(
  tx: Transaction,
  { secrets, clock }: Pick<Deps, 'secrets' | 'clock'>,
  user: Identity,
  code: string,
): Promise<void> {
  const used = await useCode(tx, secrets, clock.now(), user, code);
  if (used === undefined)
    throw notedAs(
      invalid(
        'code',
        'invalid_input',
        'The code is wrong or was used before: send the one that the app shows now, or a ' +
          'recovery code.',
      ),
      'confirmation_failed',
      'wrong_code',
    );
}
