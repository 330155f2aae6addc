import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { isPerson, personOf, uuidParameter } from '../../platform/http/caller/access.ts';
import { refuseRevival, shownOnce } from '../../platform/http/caller/key_rules.ts';
import { missing, notFound } from '../../platform/http/errors.ts';
import { Problem } from '../../platform/http/responses.ts';
import { addList, addRecord, addWrite, entryWriter } from '../../platform/http/records.ts';
import type { Records } from '../../platform/http/records.ts';
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

/** The entry's author is the person who saw the key, so `created_by` is no change of its own. */
const entryOf = entryWriter('service_key', ({ name }: ServiceKeyRow) => name, [
  'last_used_at',
  'last_used_ip',
  'last_used_user_agent',
  'created_by',
  'is_creator_administrator',
]);
const service_keys: Records<ServiceKeyRow> = {
  url: one,
  answer: ServiceKey,
  reading,
  changing,
  get: getKey,
  entry: entryOf,
};

/**
 * Routes of `/api/organizations/:organization_id/service_keys/`: keys of the organization that
 * belong to no person. List, create, retrieve, change, rotate, delete, and a key's view of itself.
 */
export function serviceKeyRoutes(app: FastifyInstance, deps: Deps): void {
  readRoutes(app, deps);
  createRoute(app, deps);
  recordRoutes(app, deps);
  rollRoute(app, deps);
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
  addList(app, {
    url: list,
    config: reading,
    summary: 'List the service keys of an organization, newest first',
    answer: ServiceKey,
    rows: ({ access }) => listServiceKeys(access.organization_id),
  });
}

function createRoute(app: FastifyInstance, { secrets, clock }: Deps): void {
  addWrite(app, {
    url: list,
    config: { ...granting, no_store: true },
    summary: 'Create a service key',
    description:
      'For signed-in administrators with a recent confirmation ' +
      '(`/api/sessions/@current/confirm/`). The key belongs to the organization: it ' +
      'keeps its level and scopes after the person who created it has left or has a ' +
      'lower level. The answer shows it once.',
    body: ServiceKeyCreate,
    response: { 201: NewServiceKey },
    work: async ({ request, tx, record }) => {
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
    },
  });
}

function recordRoutes(app: FastifyInstance, { clock }: Deps): void {
  addRecord(app, service_keys, {
    retrieve: { summary: 'Retrieve a service key' },
    change: {
      config: granting,
      refusals: {
        409: {
          ...Problem,
          description:
            'The key has expired and cannot be restored, or was rotated and cannot be extended.',
        },
      },
      patch: { summary: 'Change the sent fields of a service key', body: ServiceKeyPatch },
      put: {
        summary: 'Change a service key; what may be left out keeps its value',
        body: ServiceKeyCreate,
      },
      apply: async ({ tx, request, before, schema }) => {
        const now_ms = clock.now();
        const changes = await serviceKeyBody(request, schema, { db: tx, now_ms });
        const is_rolled = await isServiceKeyRolled(tx, before.id);
        refuseRevival(before, is_rolled, changes.expires_at, now_ms);
        await updateServiceKey(tx, before.id, changes);
      },
    },
    remove: {
      summary: 'Revoke a service key at once',
      apply: ({ tx, before }) => deleteServiceKey(tx, before.id),
    },
  });
}

function rollRoute(app: FastifyInstance, { secrets, clock }: Deps): void {
  addWrite(app, {
    url: `${one}roll/`,
    config: { ...granting, no_store: true },
    summary: 'Replace a service key by a new one with the same name, rights and expiry',
    description:
      'The answer is the new key. The old one keeps working for `overlap_seconds`, but never ' +
      'beyond its own end.',
    body: ApiKeyRoll,
    response: {
      201: NewServiceKey,
      409: { ...Problem, description: 'The key has expired, or was rotated before.' },
    },
    work: async ({ request, tx, record }) => {
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
    },
  });
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
