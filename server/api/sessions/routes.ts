import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { isUuid } from '../../platform/uuid.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { refuseCrossSite } from '../../platform/http/caller/cross_site.ts';
import { notFound, ownFactorRequired, twoCredentials } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { Problem } from '../../platform/http/responses.ts';
import { clearSessionCookie } from '../../platform/http/caller/session.ts';
import { countTry, forgiveTries } from '../../platform/http/caller/sign_in_throttle.ts';
import { write } from '../../platform/http/write.ts';
import { addList, addRoute, addWrite } from '../../platform/http/records.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { refuseEnforced } from '../domains/store.ts';
import { getUser } from '../users/store.ts';
import { findSession, listSessions } from './find.ts';
import { passkeySignInRoutes } from './passkey_routes.ts';
import { Session, SignIn, SignedIn } from './schema.ts';
import type { SessionRow } from './schema.ts';
import { confirmRoute } from './confirm.ts';
import { confirmSecondFactor, recognise } from './sign_in.ts';
import { beginningEntry, endSession, endSessions, sessionEntry, startSession } from './store.ts';

const list = '/api/sessions/';
const url = '/api/sessions/:id/';

/** Routes of `/api/sessions/`: sign in, confirm, list, retrieve, end one, end all others. */
export function sessionRoutes(app: FastifyInstance, deps: Deps): void {
  signInRoute(app, deps);
  passkeySignInRoutes(app, deps);
  confirmRoute(app, deps);
  listRoutes(app, deps);
  recordRoutes(app, deps);
}

function signInRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'POST',
    url: list,
    config: { scope: 'public' },
    summary: 'Sign in with e-mail address and password',
    description:
      'Sets the session cookie. 401 `second_factor_required`: the password is right, ' +
      'send the same again with `code`, or with `passkey` (ask for its options at ' +
      '`/api/sessions/passkey/begin/`). After 5 failures of an account, or 20 from an ' +
      'address, each further try has to wait (429), even with the right password. 400 ' +
      '`sso_enforced`: the domain of the address enforces single sign-on.',
    body: SignIn,
    response: {
      201: SignedIn,
      400: Problem,
      401: Problem,
      403: Problem,
      413: Problem,
      415: Problem,
      429: Problem,
      503: Problem,
    },
    handler: async (request, reply) => {
      refuseCrossSite(app.context, request);
      if (request.headers.authorization !== undefined) throw twoCredentials();
      const given = body(request, SignIn);
      await refuseEnforced(deps, given.email);
      const user = await recognise(deps, request, given);
      const signIn = (held?: () => void) =>
        write(request, reply, 201, async (tx, record, afterwards) => {
          const second_factor = await confirmSecondFactor(tx, deps, request, user, given);
          held?.();
          const session = await startSession(tx, { request, reply, afterwards }, user, {
            method: 'password',
            shows_own_factor: true,
            shows_second_factor: second_factor !== 'none',
          });
          afterwards(() => forgiveTries(request, user.address));
          record(beginningEntry(user, session, { second_factor }));
          return { ...session, user: await getUser(tx, user.id) };
        });
      // A code or passkey counts as a try, so that a person who only knows the password cannot keep
      // guessing.
      const isTry = given.code !== undefined || given.passkey !== undefined;
      return isTry ? countTry(request, user.address, signIn) : signIn();
    },
  });
}

function listRoutes(app: FastifyInstance, { clock }: Deps): void {
  addList(app, {
    url: list,
    config: { scope: 'user:read', own_account: true },
    summary: 'List your sessions, newest first',
    answer: Session,
    rows: (request) => {
      const now = clock.now();
      return listSessions(request.caller, now);
    },
  });

  addWrite(app, {
    method: 'DELETE',
    url: list,
    config: { scope: 'user:write', own_account: true },
    summary: 'End all your sessions but the current one; with a key, all',
    operationId: 'sessions_destroy_others',
    response: { 204: { type: 'null' } },
    work: async ({ request, tx, record }) => {
      const { user_id, user_uuid, session_id } = personOf(request);
      const ended = await endSessions(tx, user_id, session_id);
      record({
        activity: 'ended_others',
        scope: 'session',
        item_id: user_uuid,
        item_name: null,
        changes: changesOf({}, { ended }),
        chain: { user_uuid },
      });
    },
  });
}

function recordRoutes(app: FastifyInstance, { db, clock }: Deps): void {
  addRoute(app, {
    url,
    config: { scope: 'user:read' },
    summary: 'Retrieve one of your sessions; `@current` is the one you ask in',
    response: { 200: Session },
    handler: (request) => getSession(db, request, clock.now()),
  });

  addWrite(app, {
    method: 'DELETE',
    url,
    config: { scope: 'user:write' },
    summary: 'End one of your sessions at once; `@current` signs out and takes the cookie back',
    response: { 204: { type: 'null' } },
    work: async ({ request, reply, tx, record, afterwards }) => {
      const session = await getSession(tx, request, clock.now(), 'lock');
      ifMatch(request, session);
      await endSession(tx, session.id);
      if (session.is_current) afterwards(async () => clearSessionCookie(app.context, reply));
      record(sessionEntry('deleted', personOf(request).user_uuid, session, undefined));
    },
  });
}

/**
 * Returns the caller's session of the path. Throws 404 for a session of others, for one that has
 * ended, and for `@current` with a key.
 */
async function getSession(
  db: Queryable,
  request: FastifyRequest,
  now_ms: number,
  lock?: 'lock',
): Promise<SessionRow> {
  const named = (request.params as { id: string }).id;
  const id = named === '@current' ? request.caller.session_id : named;
  if (request.caller.is_partial && id !== request.caller.session_id) throw ownFactorRequired();
  const session =
    id !== null && isUuid(id) ? await findSession(db, request.caller, id, now_ms, lock) : undefined;
  if (session === undefined) throw notFound();
  return session;
}
