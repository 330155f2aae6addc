import type { FastifyRequest } from 'fastify';
import type { Static, TObject } from 'typebox';
import type { Deps } from '../../deps.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import { beginBody } from '../../platform/http/bodies/body.ts';
import {
  conflict,
  forbidden,
  invalid,
  invalidMany,
  notedAs,
  unauthenticated,
} from '../../platform/http/errors.ts';
import type { ApiError, Violation } from '../../platform/http/errors.ts';
import { isFactorRecent } from '../../platform/http/caller/session.ts';
import { countTry, forgiveTries } from '../../platform/http/caller/sign_in_throttle.ts';
import type { Effect } from '../../platform/http/write.ts';
import { isPassword } from '../../platform/passwords/password.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import type { GivenPasskey } from '../passkeys/schema.ts';
import { provePasskey, wrongPasskey } from '../passkeys/store.ts';
import type { Confirmation } from './schema.ts';
import { findIdentityById, useCode } from '../users/store.ts';
import type { Identity } from '../users/store.ts';

/** A person who has proved their identity again, the checked body, and effects after the commit. */
type Confirmed<Given> = { user: Identity; given: Given; succeeded: Effect };

/**
 * Requires more than a session, which may be stolen. The person sends their password; without one,
 * the session needs a confirmation less than ten minutes old. Throws one 400 that lists every
 * violation of the body, including a missing password or second factor. Also throws 400 for a wrong
 * password, 403 for a session without a recent confirmation, and 429 after too many tries. A right
 * password is no failure, but it only resets the count of failures if the account has no second
 * factor.
 */
export async function confirmPerson<
  Body extends TObject,
  BodyWithPassword extends typeof Confirmation.with_password,
>(
  { db }: Pick<Deps, 'db'>,
  request: FastifyRequest,
  wanted: { any: Body; with_password: BodyWithPassword },
  needsFactor: (user: Identity) => boolean = () => false,
): Promise<Confirmed<Static<Body> | Static<BodyWithPassword>>> {
  const user = await findIdentityById(db, personOf(request).user_id);
  if (user === undefined)
    throw unauthenticated('authentication_failed', 'The account has been closed.');
  const { password_hash } = user;
  const needs_factor = needsFactor(user);
  const succeeded = async () =>
    user.has_second_factor ? undefined : forgiveTries(request, user.address);
  if (password_hash === null) {
    const given = readBody(request, wanted.any, needs_factor);
    refuseOldSession(request);
    return { user, given, succeeded };
  }
  const given = readBody(request, wanted.with_password, needs_factor);
  return countTry(request, user.address, async (held) => {
    if (!(await isPassword(given.current_password, password_hash)))
      throw notedAs(
        invalid('current_password', 'invalid_input', 'This is not the current password.'),
        'confirmation_failed',
        'wrong_password',
      );
    held();
    return { user, given, succeeded };
  });
}

/**
 * Returns the checked body. Throws one 400 that lists every violation, including a missing second
 * factor.
 */
function readBody<Body extends TObject>(
  request: FastifyRequest,
  schema: Body,
  needs_factor: boolean,
): Static<Body> {
  const { sent, endWith } = beginBody(request, schema);
  const isMissing = sent['code'] === undefined && sent['passkey'] === undefined;
  return endWith(needs_factor && isMissing ? [factor_missing] : []);
}

const factor_missing: Violation = {
  attr: 'code',
  code: 'required',
  detail: 'Send a code of your second factor as `code`, or a passkey of yours as `passkey`.',
};

/**
 * A confirmation by an organization's provider does not count: its administrators could take
 * over the account.
 */
function refuseOldSession({ server, caller }: FastifyRequest): void {
  if (!isFactorRecent(server.context, caller))
    throw forbidden(
      'Your account has no password, so this needs a recent sign-in. Sign in again or ' +
        'confirm that it is you, then repeat this within ten minutes. If only your ' +
        "organization's provider signs you in, request a link by mail and choose a password.",
      'old_session',
    );
}

/**
 * Locks the confirmed user until the transaction ends. Throws 409 if their password has changed
 * meanwhile, because that may have ended this session.
 */
export async function holdConfirmed(tx: Transaction, confirmed: Identity): Promise<Identity> {
  const user = await findIdentityById(tx, confirmed.id, 'lock');
  if (user === undefined || user.password_hash !== confirmed.password_hash)
    throw conflict(
      'The account was changed at the same time: sign in again, then repeat the request.',
    );
  return user;
}

/**
 * Consumes the sent second factor, a code or a passkey. Requires none if the user, whom the caller
 * has locked, has none. Throws 400 for a wrong or used factor.
 */
export async function requireFactor(
  tx: Transaction,
  deps: Pick<Deps, 'secrets' | 'clock' | 'config'>,
  request: FastifyRequest,
  user: Identity,
  { code, passkey }: { code?: string; passkey?: GivenPasskey },
): Promise<void> {
  if (!user.has_second_factor) return;
  if (code !== undefined) {
    const used = await useCode(tx, deps.secrets, deps.clock.now(), user, code);
    if (used === undefined) throw wrongCode();
    return;
  }
  if (passkey === undefined) throw invalidMany([factor_missing]);
  const fault = await provePasskey(tx, deps, request, user, passkey);
  if (fault !== undefined) throw wrongPasskey(fault);
}

function wrongCode(): ApiError {
  return notedAs(
    invalid(
      'code',
      'invalid_input',
      'The code is wrong or was used before: send the current code of the app, or a recovery code.',
    ),
    'confirmation_failed',
    'wrong_code',
  );
}
