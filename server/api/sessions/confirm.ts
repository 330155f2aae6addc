import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { Deps } from '../../deps.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { countTry, forgiveTries } from '../../platform/http/caller/sign_in_throttle.ts';
import {
  conflict,
  invalid,
  missing,
  notedAs,
  unauthenticated,
} from '../../platform/http/errors.ts';
import { openid_providers } from '../../platform/openid_providers.ts';
import { write } from '../../platform/http/write.ts';
import { addRoute } from '../../platform/http/records.ts';
import { isPassword } from '../../platform/passwords/password.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { provePasskey, wrongPasskey } from '../passkeys/store.ts';
import { findIdentityById, useCode } from '../users/store.ts';
import type { Identity } from '../users/store.ts';
import { Session, SessionConfirm } from './schema.ts';
import { findSession } from './find.ts';
import { noteOwnFactor, replaceToken, sessionEntry } from './store.ts';

type Given = Static<typeof SessionConfirm>;

/**
 * Route `/api/sessions/@current/confirm/`: the person of a session proves their identity again. A
 * session of a provider then reaches the whole account, and for ten minutes the session may do what
 * requires a recent confirmation.
 */
export function confirmRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'POST',
    url: '/api/sessions/@current/confirm/',
    config: { scope: 'user:write', session: true },
    summary: 'Confirm that it is you, with password and second factor or a passkey',
    description:
      'Send `password` if the account has one, and `code` if it has a second factor; or ' +
      'send `passkey` alone (ask for its options at `/api/sessions/passkey/begin/`). A ' +
      'session of a provider then reaches all your organizations. For ten minutes you can ' +
      'make changes that need a recent confirmation (403 `own_factor_required`). The ' +
      'session gets a new cookie. 409: the account has neither; have a link mailed ' +
      '(`/api/users/@me/reset_password/`) and choose a password.',
    operationId: 'sessions_current_confirm_create',
    body: SessionConfirm,
    response: { 200: Session },
    handler: (request, reply) => confirmSession(deps, request, reply),
  });
}

async function confirmSession(deps: Deps, request: FastifyRequest, reply: FastifyReply) {
  const given = body(request, SessionConfirm);
  const user = await getIdentity(deps, request);
  const { method } = await getCurrent(deps.db, deps, request);
  const is_vouched = (openid_providers as readonly string[]).includes(method);
  requireAll(user, given, is_vouched);
  return countTry(request, user.address, async (held) => {
    await checkPassword(user, given);
    return write(request, reply, 200, async (tx, record, afterwards) => {
      const present = await findIdentityById(tx, user.id, 'lock');
      if (present === undefined || present.password_hash !== user.password_hash)
        throw conflict('Your account was changed at the same time: try again.');
      // A second factor may have been set up meanwhile.
      requireAll(present, given, is_vouched);
      const shows_second_factor = await checkFactor(tx, deps, request, present, given);
      held();
      const before = await getCurrent(tx, deps, request);
      await noteOwnFactor(tx, before.id, shows_second_factor, deps.clock.now());
      await replaceToken(tx, { request, reply, afterwards }, before.id);
      afterwards(() => forgiveTries(request, user.address));
      const after = { ...(await getCurrent(tx, deps, request)), is_partial: false };
      record({
        ...sessionEntry('confirmed', user.uuid, before, after),
        changes: changesOf(undefined, { second_factor: shows_second_factor }),
      });
      return after;
    });
  });
}

async function getIdentity({ db }: Deps, request: FastifyRequest): Promise<Identity> {
  const user = await findIdentityById(db, personOf(request).user_id);
  if (user === undefined)
    throw unauthenticated('authentication_failed', 'The account has been closed.');
  return user;
}

async function getCurrent(
  db: Deps['db'] | Transaction,
  { clock }: Pick<Deps, 'clock'>,
  { caller }: FastifyRequest,
) {
  return (await findSession(db, caller, caller.session_id ?? '', clock.now())) ?? missing();
}

/**
 * Throws unless every factor of the account is sent. The operator's provider replaces the password,
 * but not the second factor.
 */
function requireAll(user: Identity, given: Given, is_vouched: boolean): void {
  const has_password = user.password_hash !== null;
  if (!has_password && !user.has_second_factor)
    throw conflict(
      'Your account has no password and no passkey to confirm with. Request a link by mail ' +
        '(POST /api/users/@me/reset_password/) and choose a password.',
    );
  // The authenticator has verified the person, so a passkey counts as both.
  if (given.passkey !== undefined) return;
  if (user.has_second_factor && given.code === undefined)
    throw invalid(
      'code',
      'required',
      'Send a code of your second factor, a recovery code, or a passkey as `passkey`.',
    );
  if (has_password && !(is_vouched && user.has_second_factor) && given.password === undefined)
    throw invalid('password', 'required', 'Send the password of your account.');
}

async function checkPassword(user: Identity, { password }: Given): Promise<void> {
  if (password === undefined || user.password_hash === null) return;
  if (!(await isPassword(password, user.password_hash)))
    throw notedAs(
      invalid('password', 'invalid_input', 'This is not the password of your account.'),
      'confirmation_failed',
      'wrong_password',
    );
}

/**
 * Uses up the passkey, or else the code; returns whether a second factor was sent. Throws 400 for a
 * wrong one.
 */
async function checkFactor(
  tx: Transaction,
  deps: Deps,
  request: FastifyRequest,
  user: Identity,
  { code, passkey }: Given,
): Promise<boolean> {
  if (passkey !== undefined) {
    const fault = await provePasskey(tx, deps, request, user, passkey);
    if (fault !== undefined) throw wrongPasskey(fault);
    return true;
  }
  if (!user.has_second_factor || code === undefined) return false;
  if ((await useCode(tx, deps.secrets, deps.clock.now(), user, code)) === undefined)
    throw notedAs(
      invalid(
        'code',
        'invalid_input',
        'This code is wrong or was used before: send the current code of your app, or a ' +
          'recovery code.',
      ),
      'confirmation_failed',
      'wrong_code',
    );
  return true;
}
