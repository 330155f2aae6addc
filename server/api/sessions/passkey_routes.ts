import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { NoFields, body } from '../../platform/http/bodies/body.ts';
import { refuseCrossSite } from '../../platform/http/caller/cross_site.ts';
import { countTry, forgiveTries } from '../../platform/http/caller/sign_in_throttle.ts';
import { twoCredentials } from '../../platform/http/errors.ts';
import { Problem } from '../../platform/http/responses.ts';
import { write } from '../../platform/http/write.ts';
import { addRoute } from '../../platform/http/records.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { PasskeySignIn, ShowOptions } from '../passkeys/schema.ts';
import type { GivenPasskey } from '../passkeys/schema.ts';
import { findPasskeyOwner, provePasskey, showOptions } from '../passkeys/store.ts';
import { refuseDeactivated } from '../deactivation/store.ts';
import { refuseEnforced } from '../domains/store.ts';
import { findIdentityById, getUser } from '../users/store.ts';
import type { Identity } from '../users/store.ts';
import { SignedIn } from './schema.ts';
import { refusedPasskey } from './sign_in.ts';
import { beginningEntry, startSession } from './store.ts';

const url = '/api/sessions/passkey/';
const refusals = { 400: Problem, 403: Problem, 413: Problem, 415: Problem, 503: Problem };

/**
 * Routes of `/api/sessions/passkey/`: the options for a browser to show a passkey, and signing in
 * with it.
 */
export function passkeySignInRoutes(app: FastifyInstance, deps: Deps): void {
  beginRoute(app, deps);
  signInRoute(app, deps);
}

function beginRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'POST',
    url: `${url}begin/`,
    config: { scope: 'public' },
    summary: 'Start a passkey sign-in and return the options for the browser',
    description:
      'The answer is the same for everybody and reveals no account. The answer of the ' +
      'browser signs in, is a second factor for the password, or confirms that it is ' +
      'you. It is valid once, in this browser. 400 `feature_not_available`: browsers ' +
      'support no passkeys at the address of the server.',
    operationId: 'sessions_passkey_begin_create',
    body: NoFields,
    response: { 200: ShowOptions, ...refusals },
    handler: async (request, reply) => {
      refuseCrossSite(app.context, request);
      body(request, NoFields);
      return showOptions(deps, request, reply);
    },
  });
}

function signInRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'POST',
    url,
    config: { scope: 'public' },
    summary: 'Sign in with a passkey alone',
    description:
      'Sets the session cookie. A passkey replaces password and second factor, because ' +
      'the authenticator has checked the person. Failures are throttled like failed ' +
      'passwords. 400 `sso_enforced`: the domain of the address enforces single sign-on. ' +
      '403: the directory of your company has deactivated you.',
    operationId: 'sessions_passkey_create',
    body: PasskeySignIn,
    response: { 201: SignedIn, 401: Problem, 429: Problem, ...refusals },
    handler: async (request, reply) => {
      refuseCrossSite(app.context, request);
      if (request.headers.authorization !== undefined) throw twoCredentials();
      const { passkey } = body(request, PasskeySignIn);
      const owner = await findPasskeyOwner(deps.db, passkey);
      request.concerned = { person: owner };
      return countTry(request, owner?.address ?? `passkey ${passkey.id}`, (held) =>
        write(request, reply, 201, async (tx, record, afterwards) => {
          const user = await recogniseByPasskey(tx, deps, request, owner?.id, passkey);
          held();
          await refuseDeactivated(tx, user.id, 'sign in');
          await refuseEnforced({ db: tx, config: deps.config }, user.email);
          const session = await startSession(tx, { request, reply, afterwards }, user, {
            method: 'passkey',
            shows_own_factor: true,
            shows_second_factor: true,
          });
          afterwards(() => forgiveTries(request, user.address));
          record(beginningEntry(user, session));
          return { ...session, user: await getUser(tx, user.id) };
        }),
      );
    },
  });
}

/**
 * Locks the active user of the passkey. Throws the same 401 if there is none and if the passkey is
 * refused.
 */
async function recogniseByPasskey(
  tx: Transaction,
  deps: Deps,
  request: FastifyRequest,
  owner: number | undefined,
  passkey: GivenPasskey,
): Promise<Identity> {
  const user = owner === undefined ? undefined : await findIdentityById(tx, owner, 'lock');
  const fault =
    user === undefined
      ? ({ reason: 'wrong_passkey', detail: 'does not belong to any account' } as const)
      : await provePasskey(tx, deps, request, user, passkey);
  if (user === undefined || fault !== undefined) throw refusedPasskey(fault!);
  return user;
}
