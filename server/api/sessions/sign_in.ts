import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { Deps } from '../../deps.ts';
import { notedAs, unauthenticated } from '../../platform/http/errors.ts';
import type { ApiError } from '../../platform/http/errors.ts';
import { countTry } from '../../platform/http/caller/sign_in_throttle.ts';
import { isNobodysPassword, isPassword } from '../../platform/passwords/password.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { notedPasskey, provePasskey } from '../passkeys/store.ts';
import type { PasskeyFault } from '../passkeys/store.ts';
import { refuseDeactivated } from '../deactivation/store.ts';
import { findIdentity, findIdentityById, useCode } from '../users/store.ts';
import type { Identity, UsedFactor } from '../users/store.ts';
import type { SignIn } from './schema.ts';

/**
 * Identifies a person by address and password. Throws the same 401 after the same time for an
 * unknown address, a user who is inactive or has no password, and a wrong password. Throws 429
 * without checking the password after too many tries. A right password is no failure, even if the
 * code is missing.
 */
export async function recognise(
  { db }: Pick<Deps, 'db'>,
  request: FastifyRequest,
  given: Static<typeof SignIn>,
): Promise<Identity> {
  const { address, user } = await findIdentity(db, given.email);
  request.concerned = { person: user };
  return countTry(request, address, async (held) => {
    const hash = user?.password_hash ?? null;
    const isRight =
      hash === null
        ? await isNobodysPassword(given.password)
        : await isPassword(given.password, hash);
    if (user === undefined || !isRight)
      throw wrongCredentials(user === undefined ? 'no_account' : 'wrong_password');
    held();
    return user;
  });
}

/**
 * Locks the identified user until the transaction ends, and uses up their second factor, if they
 * have one; returns which. Throws 401 if their password has changed or they were deactivated
 * meanwhile, so that no session starts after all others were ended. Throws 401 if the code or the
 * passkey is missing or wrong, and 403 if their company's directory has deactivated them.
 */
export async function confirmSecondFactor(
  tx: Transaction,
  deps: Pick<Deps, 'secrets' | 'clock' | 'config'>,
  request: FastifyRequest,
  recognised: Identity,
  { code, passkey }: Pick<Static<typeof SignIn>, 'code' | 'passkey'>,
): Promise<UsedFactor | 'passkey' | 'none'> {
  const user = await findIdentityById(tx, recognised.id, 'lock');
  if (user === undefined || user.password_hash !== recognised.password_hash)
    throw wrongCredentials('account_changed');
  await refuseDeactivated(tx, user.id, 'sign in');
  if (!user.has_second_factor) return 'none';
  if (code === undefined && passkey === undefined)
    throw unauthenticated(
      'second_factor_required',
      'Send a code of your second factor, or a recovery code, as `code`, or a passkey of yours ' +
        'as `passkey`.',
    );
  if (code === undefined) {
    const fault = await provePasskey(tx, deps, request, user, passkey!);
    if (fault !== undefined) throw refusedPasskey(fault);
    return 'passkey';
  }
  const used = await useCode(tx, deps.secrets, deps.clock.now(), user, code);
  if (used === undefined)
    throw notedAs(
      unauthenticated(
        'authentication_failed',
        'The code is wrong or was used before: send the current code of the app, or a ' +
          'recovery code.',
      ),
      'sign_in_failed',
      'wrong_code',
    );
  return used;
}

/** Returns the 401 for a passkey that signs nobody in, with the same words for every reason. */
export function refusedPasskey(fault: PasskeyFault): ApiError {
  const detail =
    'This passkey does not open an account here, or it took longer than five minutes: try ' +
    'again, or sign in another way.';
  return notedPasskey(unauthenticated('authentication_failed', detail), 'sign_in_failed', fault);
}

function wrongCredentials(reason: string): ApiError {
  return notedAs(
    unauthenticated(
      'authentication_failed',
      'There is no account with this e-mail address and password.',
    ),
    'sign_in_failed',
    reason,
  );
}
