import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { Deps } from '../../deps.ts';
import { isoInstant } from '../../platform/clock.ts';
import { beginBody } from '../../platform/http/bodies/body.ts';
import { conflict, unauthenticated } from '../../platform/http/errors.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { Problem } from '../../platform/http/responses.ts';
import { clearSessionCookie } from '../../platform/http/caller/session.ts';
import { write } from '../../platform/http/write.ts';
import { addRecord, addRoute } from '../../platform/http/records.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { accountChanges, accountEntry } from './activity.ts';
import { confirmPerson, holdConfirmed } from './confirm_person.ts';
import { deleteUser, listHomes, listOnlyOwned } from './delete_user.ts';
import { Account } from '../users/schema.ts';
import type { AccountRow } from '../users/schema.ts';
import { findAccount, updateUser } from '../users/store.ts';
import { AccountPatch, Confirmation } from './schema.ts';

const url = '/api/users/@me/';
const mascot_config_length_max = 10_000;

/** Routes of `/api/users/@me/`: retrieve, change, delete. */
export function recordRoutes(app: FastifyInstance, deps: Deps): void {
  const { clock } = deps;
  addRecord(
    app,
    {
      url,
      answer: Account,
      reading: { scope: 'user:read' },
      changing: { scope: 'user:write', own_account: true },
      get: (db: Queryable, request, lock) => getAccount(db, request, isoInstant(clock.now()), lock),
      entry: (_, before, after) => accountEntry('updated', after!, accountChanges(before, after)),
    },
    {
      retrieve: { summary: 'Retrieve your account', operationId: 'users_me_retrieve' },
      change: {
        summary:
          'Change the sent fields of your account; address and password have their own routes',
        patch: { operationId: 'users_me_partial_update', body: AccountPatch },
        put: { operationId: 'users_me_update', body: AccountPatch },
        apply: ({ tx, request, before }) => updateUser(tx, before.id, readChanges(request)),
      },
    },
  );
  deleteRoute(app, deps);
}

/**
 * Returns the checked body. Throws one 400 that lists every violation, including those that no
 * schema can express.
 */
function readChanges(request: FastifyRequest): Static<typeof AccountPatch> {
  const { sent, endWith } = beginBody(request, AccountPatch);
  return endWith(sizeViolations(sent['mascot_config']));
}

function sizeViolations(mascot_config: unknown): Violation[] {
  if (
    typeof mascot_config !== 'object' ||
    JSON.stringify(mascot_config).length <= mascot_config_length_max
  )
    return [];
  return [
    {
      attr: 'mascot_config',
      code: 'max_length',
      detail: `Must have at most ${mascot_config_length_max} characters of JSON.`,
    },
  ];
}

function deleteRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'DELETE',
    url,
    config: { scope: 'user:write', session: true, own_account: true },
    summary: 'Delete your account with its keys, sessions and memberships',
    description:
      '409 while you are the only owner of an organization: delete the organization, or ' +
      'make somebody else its owner, first.',
    operationId: 'users_me_destroy',
    body: Confirmation.any,
    response: { 204: { type: 'null' }, 409: Problem, 415: Problem },
    handler: async (request, reply) => {
      const { user, succeeded } = await confirmPerson(deps, request, Confirmation);
      return write(request, reply, 204, async (tx, record, afterwards) => {
        const owned = await listOnlyOwned(tx, user.id);
        await holdConfirmed(tx, user);
        const before = await getAccount(tx, request, isoInstant(deps.clock.now()));
        ifMatch(request, before);
        if (owned.length > 0)
          throw conflict(
            `You are the only owner of ${owned.join(', ')}: first delete unused ` +
              'organizations, or make another person an owner.',
          );
        const also = (await listHomes(tx, user.id)).map((organization_id) => ({ organization_id }));
        await deleteUser(tx, user.id);
        afterwards(succeeded);
        afterwards(async () => clearSessionCookie(app.context, reply));
        record({ ...accountEntry('deleted', user, accountChanges(before, undefined)), also });
      });
    },
  });
}

/** Throws 401 if the account was deleted after the request arrived. */
async function getAccount(
  db: Queryable,
  request: FastifyRequest,
  now: string,
  lock?: 'lock',
): Promise<AccountRow> {
  const account = await findAccount(db, request.caller, now, lock);
  if (account === undefined)
    throw unauthenticated('authentication_failed', 'The account has been deleted.');
  return account;
}
