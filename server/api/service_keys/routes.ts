import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { isPerson, personOf, uuidParameter } from '../../platform/http/caller/access.ts';
import { refuseRevival } from '../../platform/http/caller/key_rules.ts';
import { missing, notFound } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { PageQuery, answerPage, pageOf } from '../../platform/http/lists/pagination.ts';
import { isValidateOnly } from '../../platform/http/lists/query.ts';
import { Problem } from '../../platform/http/responses.ts';
import { write } from '../../platform/http/write.ts';
import type { Entry } from '../../platform/http/write.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { ApiKeyRoll } from '../api_keys/schema.ts';
import { refuseSecondRoll, refuseTooManyKeys, serviceKeyBody } from './rules.ts';
import {
  CurrentServiceKey,
  NewServiceKey,
  ServiceKey,
  ServiceKeyCreate,
  ServiceKeyPatch,
} from './schema.ts';
import type { ServiceKeyRow } from './schema.ts';
import {
  countLiveServiceKeys,
  deleteServiceKey,
  findCurrentServiceKey,
  findServiceKey,
  insertServiceKey,
  isServiceKeyRolled,
  listServiceKeys,
  markServiceKeyRolled,
  updateServiceKey,
} from './store.ts';

const list = '/api/organizations/:organization_id/service_keys/';
const one = `${list}:id/`;
const place = { within: 'organization', level: 8 } as const;
const reading = { ...place, scope: 'organization_member:read' } as const;
// A key that could create keys would outlive its own end, and a key without an owner outlives the
// session that created it.
const changing = {
  ...place,
  scope: 'organization_security:write',
  session: true,
  locks_organization: true,
} as const;
const granting = { ...changing, recent_factor: true } as const;

/**
 * Routes of `/api/organizations/:organization_id/service_keys/`: keys of the organization that
 * belong to no person. List, create, retrieve, change, rotate, delete, and a key's view of itself.
 */
export function serviceKeyRoutes(app: FastifyInstance, deps: Deps): void {
  readRoutes(app, deps);
  createRoute(app, deps);
  changeRoutes(app, deps);
  rollRoute(app, deps);
  deleteRoute(app);
}

function readRoutes(app: FastifyInstance, { db }: Deps): void {
  app.get(
    '/api/service_keys/@current/',
    {
      config: { scope: 'any', service_keys: true },
      schema: {
        operationId: 'service_keys_current_retrieve',
        summary: 'Retrieve the service key of the request',
        response: {
          200: CurrentServiceKey,
          404: { ...Problem, description: 'The request has no service key.' },
        },
      },
    },
    async ({ caller }) => {
      if (isPerson(caller)) throw notFound();
      return (await findCurrentServiceKey(db, caller.key_id!)) ?? missing();
    },
  );
  app.get(
    list,
    {
      config: reading,
      schema: {
        summary: 'List the service keys of an organization, newest first',
        querystring: PageQuery,
        response: { 200: pageOf(ServiceKey) },
      },
    },
    (request) =>
      answerPage<ServiceKeyRow>(request, db, listServiceKeys(request.access.organization_id)),
  );
  app.get(
    one,
    {
      config: reading,
      schema: { summary: 'Retrieve a service key', response: { 200: ServiceKey } },
    },
    (request) => getKey(db, request),
  );
}

function createRoute(app: FastifyInstance, { secrets, clock }: Deps): void {
  app.post(
    list,
    {
      config: { ...granting, no_store: true },
      schema: {
        summary: 'Create a service key',
        description:
          'For signed-in administrators with a recent confirmation ' +
          '(`/api/sessions/@current/confirm/`). The key belongs to the organization: it ' +
          'keeps its level and scopes after the person who created it has left or has a ' +
          'lower level. The answer shows it once.',
        body: ServiceKeyCreate,
        response: { 201: NewServiceKey },
      },
    },
    (request, reply) =>
      write(request, reply, 201, async (tx, record) => {
        const { organization_id } = request.access;
        const now_ms = clock.now();
        const fields = await serviceKeyBody(request, ServiceKeyCreate, { db: tx, now_ms });
        refuseTooManyKeys(await countLiveServiceKeys(tx, organization_id, now_ms));
        const created_by = personOf(request).user_id;
        const { value, ...created } = await insertServiceKey(tx, secrets, {
          ...fields,
          organization_id,
          created_by,
        });
        record(entryOf('created', undefined, created));
        return shownOnce(request, created, value);
      }),
  );
}

function changeRoutes(app: FastifyInstance, { clock }: Deps): void {
  const change =
    (schema: typeof ServiceKeyCreate | typeof ServiceKeyPatch) =>
    (request: FastifyRequest, reply: FastifyReply) =>
      write(request, reply, 200, async (tx, record) => {
        const before = await getKey(tx, request, 'lock');
        ifMatch(request, before);
        const now_ms = clock.now();
        const changes = await serviceKeyBody(request, schema, { db: tx, now_ms });
        const is_rolled = await isServiceKeyRolled(tx, before.id);
        refuseRevival(before, is_rolled, changes.expires_at, now_ms);
        await updateServiceKey(tx, before.id, changes);
        const after = await getKey(tx, request);
        record(entryOf('updated', before, after), before);
        return after;
      });
  const response = {
    200: ServiceKey,
    409: {
      ...Problem,
      description:
        'The key has expired and cannot be restored, or was rotated and cannot be extended.',
    },
  };
  app.patch(
    one,
    {
      config: granting,
      schema: {
        summary: 'Change the sent fields of a service key',
        body: ServiceKeyPatch,
        response,
      },
    },
    change(ServiceKeyPatch),
  );
  app.put(
    one,
    {
      config: granting,
      schema: {
        summary: 'Change a service key; what may be left out keeps its value',
        body: ServiceKeyCreate,
        response,
      },
    },
    change(ServiceKeyCreate),
  );
}

function rollRoute(app: FastifyInstance, { secrets, clock }: Deps): void {
  app.post(
    `${one}roll/`,
    {
      config: { ...granting, no_store: true },
      schema: {
        summary: 'Replace a service key by a new one with the same name, rights and expiry',
        description:
          'The answer is the new key. The old one keeps working for `overlap_seconds`, but never ' +
          'beyond its own end.',
        body: ApiKeyRoll,
        response: {
          201: NewServiceKey,
          409: { ...Problem, description: 'The key has expired, or was rotated before.' },
        },
      },
    },
    (request, reply) =>
      write(request, reply, 201, async (tx, record) => {
        const before = await getKey(tx, request, 'lock');
        const { overlap_seconds = 0 } = body(request, ApiKeyRoll);
        const { organization_id } = request.access;
        const now_ms = clock.now();
        refuseSecondRoll(before, await isServiceKeyRolled(tx, before.id), now_ms);
        await markServiceKeyRolled(tx, before.id, now_ms, overlap_seconds);
        const after = await getKey(tx, request);
        refuseTooManyKeys(await countLiveServiceKeys(tx, organization_id, now_ms));
        const created_by = personOf(request).user_id;
        const { value, ...created } = await insertServiceKey(tx, secrets, {
          ...before,
          organization_id,
          created_by,
        });
        record(entryOf('rolled', before, { ...after, replaced_by: created.id }));
        return shownOnce(request, created, value);
      }),
  );
}

function deleteRoute(app: FastifyInstance): void {
  app.delete(
    one,
    {
      config: changing,
      schema: { summary: 'Revoke a service key at once', response: { 204: { type: 'null' } } },
    },
    (request, reply) =>
      write(request, reply, 204, async (tx, record) => {
        const before = await getKey(tx, request, 'lock');
        ifMatch(request, before);
        await deleteServiceKey(tx, before.id);
        record(entryOf('deleted', before, undefined));
      }),
  );
}

/** Returns the key of the path, in its organization; throws 404 if it does not exist. */
async function getKey(
  db: Queryable,
  request: FastifyRequest,
  lock?: 'lock',
): Promise<ServiceKeyRow> {
  const { organization_id } = request.access;
  return (
    (await findServiceKey(db, organization_id, uuidParameter(request, 'id'), lock)) ?? missing()
  );
}

/** Returns the answer that creates a key. `validate_only` creates none and shows none. */
function shownOnce(
  request: FastifyRequest,
  created: ServiceKeyRow,
  value: string,
): ServiceKeyRow & { value?: string } {
  return isValidateOnly(request) ? created : { ...created, value };
}

/** The entry's author is the person who saw the key, so `created_by` is no change of its own. */
function entryOf(
  activity: string,
  before: ServiceKeyRow | undefined,
  after: (ServiceKeyRow & { replaced_by?: string }) | undefined,
): Entry {
  const { id, name } = (after ?? before)!;
  const changes = changesOf(before, after, [
    'last_used_at',
    'last_used_ip',
    'last_used_user_agent',
    'created_by',
    'is_creator_administrator',
  ]);
  return { activity, scope: 'service_key', item_id: id, item_name: name, changes };
}
