import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { personOf, uuidParameter } from '../../platform/http/caller/access.ts';
import { countTry, forgiveTries } from '../../platform/http/caller/sign_in_throttle.ts';
import { notFound, unauthenticated } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { isValidateOnly } from '../../platform/http/lists/query.ts';
import { Problem } from '../../platform/http/responses.ts';
import { write } from '../../platform/http/write.ts';
import type { Entry } from '../../platform/http/write.ts';
import { addList, addRecord, addRoute, addWrite } from '../../platform/http/records.ts';
import type { Change } from '../../platform/activity/changes.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import {
  CreateOptions,
  NewPasskey,
  Passkey,
  PasskeyCreate,
  PasskeyPatch,
  PasskeyPut,
} from '../passkeys/schema.ts';
import type { PasskeyRow } from '../passkeys/schema.ts';
import {
  createOptions,
  createPasskey,
  deletePasskey,
  findPasskey,
  listPasskeys,
  renamePasskey,
} from '../passkeys/store.ts';
import { noteSecondFactor } from '../sessions/store.ts';
import { accountEntry } from './activity.ts';
import { confirmPerson, holdConfirmed, requireFactor } from './confirm_person.ts';
import { refuseLastFactor } from './last_factor.ts';
import { noticeMail } from './mails.ts';
import { replaceRecoveryCodes } from '../users/recovery_codes/store.ts';
import { ConfirmationWithFactor } from './schema.ts';
import { findIdentityById, removeIdleCodes } from '../users/store.ts';

const list = '/api/users/@me/passkeys/';
const one = `${list}:id/`;
const reading = { scope: 'user:read', session: true, own_account: true } as const;
const config = { scope: 'user:write', session: true, own_account: true } as const;

/**
 * Routes of `/api/users/@me/passkeys/`: list, retrieve, begin and finish to create, rename, remove.
 */
export function passkeyRoutes(app: FastifyInstance, deps: Deps): void {
  listRoute(app);
  beginRoute(app, deps);
  finishRoute(app, deps);
  recordRoutes(app);
  removeRoute(app, deps);
}

function listRoute(app: FastifyInstance): void {
  addList(app, {
    url: list,
    config: reading,
    summary: 'List your passkeys, newest first',
    operationId: 'users_me_passkeys_list',
    answer: Passkey,
    rows: (request) => listPasskeys(personOf(request).user_id),
  });
}

function beginRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'POST',
    url: `${list}begin/`,
    config,
    summary: 'Start to create a passkey and return the options for the browser',
    description:
      'Needs the password and, if you have a second factor, a code or passkey. 400 ' +
      '`feature_not_available` if browsers support no passkeys at the address of the ' +
      'server. 409 if you have 20.',
    operationId: 'users_me_passkeys_begin_create',
    body: ConfirmationWithFactor.any,
    response: { 200: CreateOptions },
    handler: async (request, reply) => {
      const confirmed = await confirmPerson(
        deps,
        request,
        ConfirmationWithFactor,
        (user) => user.has_second_factor,
      );
      return countTry(request, confirmed.user.address, (held) =>
        write(request, reply, 200, async (tx, record, afterwards) => {
          const user = await holdConfirmed(tx, confirmed.user);
          await requireFactor(tx, deps, request, user, confirmed.given);
          held();
          const { challenge, ...options } = await createOptions(tx, deps, { request, reply }, user);
          afterwards(confirmed.succeeded);
          record(accountEntry('began_passkey', user, []));
          return isValidateOnly(request) ? options : { challenge, ...options };
        }),
      );
    },
  });
}

function finishRoute(app: FastifyInstance, deps: Deps): void {
  addWrite(app, {
    url: list,
    config: { ...config, no_store: true },
    summary: "Finish creating a passkey with the browser's answer",
    description:
      'From now on it signs you in without a password, and is a second factor for the ' +
      'password. With the first second factor you get the recovery codes, once.',
    operationId: 'users_me_passkeys_create',
    body: PasskeyCreate,
    response: { 201: NewPasskey },
    work: async ({ request, tx, record, afterwards }) => {
      const user = await findIdentityById(tx, personOf(request).user_id, 'lock');
      if (user === undefined)
        throw unauthenticated('authentication_failed', 'The account has been closed.');
      const created = await createPasskey(tx, deps, request, user, body(request, PasskeyCreate));
      // Creating a passkey proves that the person has it.
      await noteSecondFactor(tx, request.caller.session_id, deps.clock.now());
      await deps.outbox.post({ tx, afterwards }, [
        { message: noticeMail(user.email, 'passkey_created') },
      ]);
      const is_first = !user.has_second_factor;
      record(
        passkeyEntry(request, 'created', created, [
          ...changesOf(undefined, created),
          ...(is_first ? changesOf({ is_2fa_enabled: false }, { is_2fa_enabled: true }) : []),
        ]),
      );
      const codes = is_first ? await replaceRecoveryCodes(tx, deps.secrets, user.id) : [];
      return { ...created, recovery_codes: isValidateOnly(request) ? [] : codes };
    },
  });
}

function recordRoutes(app: FastifyInstance): void {
  addRecord(
    app,
    {
      url: one,
      answer: Passkey,
      reading,
      changing: config,
      get: getPasskey,
      entry: (activity, before, after, _, request) =>
        passkeyEntry(request, activity, after!, changesOf(before, after)),
    },
    {
      retrieve: {
        summary: 'Retrieve one of your passkeys',
        operationId: 'users_me_passkeys_retrieve',
      },
      change: {
        summary: 'Give one of your passkeys another name',
        patch: { operationId: 'users_me_passkeys_partial_update', body: PasskeyPatch },
        put: { operationId: 'users_me_passkeys_update', body: PasskeyPut },
        apply: async ({ tx, request, before, schema }) => {
          const { name = before.name } = body(request, schema);
          if (name !== before.name) await renamePasskey(tx, before.id, name);
        },
      },
    },
  );
}

function removeRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'DELETE',
    url: one,
    config,
    summary: 'Remove one of your passkeys; recovery codes go with the last second factor',
    description:
      'Takes the password and a code or passkey. 409 when it is the only way into your ' +
      'account, or your last second factor while an organization of yours enforces one; the ' +
      'answer names it.',
    operationId: 'users_me_passkeys_destroy',
    body: ConfirmationWithFactor.any,
    response: { 204: { type: 'null' }, 409: Problem, 415: Problem },
    handler: async (request, reply) => {
      await getPasskey(deps.db, request);
      const confirmed = await confirmPerson(deps, request, ConfirmationWithFactor, () => true);
      return countTry(request, confirmed.user.address, (held) =>
        write(request, reply, 204, async (tx, record, afterwards) => {
          const user = await holdConfirmed(tx, confirmed.user);
          // Read before the proof, which may use and so change this passkey.
          const before = await getPasskey(tx, request, 'lock');
          await requireFactor(tx, deps, request, user, confirmed.given);
          held();
          ifMatch(request, before);
          const is_last = (await refuseLastFactor(tx, user, 'passkey')) === 'none left';
          await deletePasskey(tx, before.id);
          await removeIdleCodes(tx, user.id);
          afterwards(() => forgiveTries(request, user.address));
          const notice = is_last ? 'last_passkey_deleted' : 'passkey_deleted';
          await deps.outbox.post({ tx, afterwards }, [{ message: noticeMail(user.email, notice) }]);
          record(
            passkeyEntry(request, 'deleted', before, [
              ...changesOf(before, undefined),
              ...(is_last ? changesOf({ is_2fa_enabled: true }, { is_2fa_enabled: false }) : []),
            ]),
          );
        }),
      );
    },
  });
}

/** Returns the caller's passkey of the path. Throws 404 for the passkey of another user. */
async function getPasskey(
  db: Queryable,
  request: FastifyRequest,
  lock?: 'lock',
): Promise<PasskeyRow> {
  const id = uuidParameter(request, 'id');
  const passkey = await findPasskey(db, personOf(request).user_id, id, lock);
  if (passkey === undefined) throw notFound();
  return passkey;
}

/** Returns the entry for the person's own log. */
function passkeyEntry(
  request: FastifyRequest,
  activity: string,
  { id, name }: PasskeyRow,
  changes: Change[],
): Entry {
  const chain = { user_uuid: personOf(request).user_uuid };
  return { activity, scope: 'passkey', item_id: id, item_name: name, changes, chain };
}
