import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { personOf, uuidParameter } from '../../platform/http/caller/access.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { refuseRevival } from '../../platform/http/caller/key_rules.ts';
import { missing, notFound } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { isValidateOnly } from '../../platform/http/lists/query.ts';
import { PageQuery, answerPage, pageOf } from '../../platform/http/lists/pagination.ts';
import { confirmCaller } from '../../platform/http/confirm_access.ts';
import { Problem } from '../../platform/http/responses.ts';
import { write } from '../../platform/http/write.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { consentRoutes } from './agents/consent_routes.ts';
import { metadataRoutes } from './agents/metadata_routes.ts';
import { tokenRoutes } from './agents/token_routes.ts';
import { entryOf } from './entry.ts';
import { organizationKeyRoutes } from './organization_routes.ts';
import { rollApiKey } from './roll.ts';
import { keptToReach, keyBody, refuseGrant, refuseTooMany } from './rules.ts';
import {
  ApiKey,
  ApiKeyCreate,
  ApiKeyPatch,
  ApiKeyPut,
  ApiKeyRoll,
  CurrentApiKey,
  NewApiKey,
} from './schema.ts';
import type { ApiKeyRow } from './schema.ts';
import {
  countLiveApiKeys,
  deleteApiKey,
  findApiKey,
  findCurrentApiKey,
  insertApiKey,
  isRolled,
  listApiKeys,
  lockOwner,
  updateApiKey,
} from './store.ts';

const list = '/api/personal_api_keys/';
const one = `${list}:id/`;
// A key that could create keys would outlive its own end.
const reading = { scope: 'user:read', session: true } as const;
const writing = { scope: 'user:write', session: true } as const;

/**
 * Routes of `/api/personal_api_keys/`: list, create, retrieve, change, rotate and delete the
 * caller's own keys, and a key's view of itself. Administrators list the keys with access to an
 * organization.
 */
export function apiKeyRoutes(app: FastifyInstance, deps: Deps): void {
  currentRoute(app, deps);
  listRoutes(app, deps);
  recordRoutes(app, deps);
  changeRoutes(app, deps);
  organizationKeyRoutes(app, deps);
  metadataRoutes(app, deps);
  consentRoutes(app, deps);
  tokenRoutes(app, deps);
}

function currentRoute(app: FastifyInstance, { db }: Deps): void {
  const missing = { ...Problem, description: 'The request has no personal API key.' };
  app.get(
    `${list}@current/`,
    {
      config: { scope: 'any', service_keys: true },
      schema: {
        operationId: 'personal_api_keys_current_retrieve',
        summary: 'Retrieve the key of the request, with its owner',
        response: { 200: CurrentApiKey, 404: missing },
      },
    },
    async (request) => {
      const { key_id } = request.caller;
      const found = key_id === null ? undefined : await findCurrentApiKey(db, key_id);
      if (found === undefined) throw notFound();
      return found;
    },
  );
}

function listRoutes(app: FastifyInstance, { db, secrets, clock }: Deps): void {
  app.get(
    list,
    {
      config: reading,
      schema: {
        summary: 'List your keys, newest first',
        querystring: PageQuery,
        response: { 200: pageOf(ApiKey) },
      },
    },
    (request) => answerPage<ApiKeyRow>(request, db, listApiKeys(personOf(request))),
  );

  app.post(
    list,
    {
      config: { ...writing, no_store: true },
      schema: { summary: 'Create a key', body: ApiKeyCreate, response: { 201: NewApiKey } },
    },
    (request, reply) =>
      write(request, reply, 201, async (tx, record) => {
        const { user_id } = personOf(request);
        const now_ms = clock.now();
        await lockOwner(tx, user_id);
        await confirmCaller(tx, request);
        const given = await keyBody(request, ApiKeyCreate, { db: tx, now_ms });
        const fields = keptToReach(personOf(request), given);
        refuseTooMany(await countLiveApiKeys(tx, user_id, now_ms));
        const { value, ...created } = await insertApiKey(tx, secrets, { ...fields, user_id });
        record(entryOf(request, 'created', undefined, created));
        return shownOnce(request, created, value);
      }),
  );
}

function recordRoutes(app: FastifyInstance, deps: Deps): void {
  app.get(
    one,
    {
      config: reading,
      schema: { summary: 'Retrieve one of your keys', response: { 200: ApiKey } },
    },
    (request) => getOwnKey(deps.db, request),
  );

  app.delete(
    one,
    {
      config: writing,
      schema: { summary: 'Revoke a key at once', response: { 204: { type: 'null' } } },
    },
    (request, reply) =>
      write(request, reply, 204, async (tx, record) => {
        const before = await lockOwnKey(tx, request);
        ifMatch(request, before);
        await deleteApiKey(tx, before.id);
        record(entryOf(request, 'deleted', before, undefined));
      }),
  );

  const rolling = {
    summary: 'Replace a key by a new one with the same label, scopes, limits and expiry',
    description:
      'The answer is the new key. The old one keeps working for `overlap_seconds`, but never ' +
      'beyond its own end.',
    body: ApiKeyRoll,
    response: { 201: NewApiKey },
  };
  const config = { ...writing, no_store: true };
  app.post(`${one}roll/`, { config, schema: rolling }, (request, reply) =>
    write(request, reply, 201, async (tx, record) => {
      const before = await lockOwnKey(tx, request);
      refuseGrant(before);
      const { overlap_seconds = 0 } = body(request, ApiKeyRoll);
      const { after, created, value } = await rollApiKey(
        tx,
        deps,
        personOf(request),
        before,
        overlap_seconds,
      );
      record(entryOf(request, 'rolled', before, { ...after, replaced_by: created.id }));
      return shownOnce(request, created, value);
    }),
  );
}

function changeRoutes(app: FastifyInstance, { clock }: Deps): void {
  const change =
    (schema: typeof ApiKeyPut | typeof ApiKeyPatch) =>
    (request: FastifyRequest, reply: FastifyReply) =>
      write(request, reply, 200, async (tx, record) => {
        const before = await lockOwnKey(tx, request);
        ifMatch(request, before);
        refuseGrant(before);
        const now_ms = clock.now();
        const changes = await keyBody(request, schema, { db: tx, now_ms });
        refuseRevival(before, await isRolled(tx, before.id), changes.expires_at, now_ms);
        const kept =
          changes.scoped_organizations === undefined
            ? changes
            : keptToReach(personOf(request), changes);
        await updateApiKey(tx, before.id, kept);
        const after = await getOwnKey(tx, request);
        record(entryOf(request, 'updated', before, after), before);
        return after;
      });
  const response = {
    200: ApiKey,
    409: {
      ...Problem,
      description:
        'The key has expired and cannot be restored, was rotated and cannot be extended, or ' +
        'is the grant of an assistant.',
    },
  };
  app.patch(
    one,
    {
      config: writing,
      schema: { summary: 'Change the sent fields of a key', body: ApiKeyPatch, response },
    },
    change(ApiKeyPatch),
  );
  app.put(
    one,
    {
      config: writing,
      schema: {
        summary: 'Change a key; what may be left out keeps its value',
        body: ApiKeyPut,
        response,
      },
    },
    change(ApiKeyPut),
  );
}

/** Returns the key of the path if it belongs to the caller; otherwise throws 404. */
async function getOwnKey(db: Queryable, request: FastifyRequest): Promise<ApiKeyRow> {
  return (await findApiKey(db, personOf(request), uuidParameter(request, 'id'))) ?? missing();
}

/** Like `getOwnKey`, with the lock for changes to a person's keys. */
async function lockOwnKey(tx: Transaction, request: FastifyRequest): Promise<ApiKeyRow> {
  await lockOwner(tx, personOf(request).user_id);
  await confirmCaller(tx, request);
  return getOwnKey(tx, request);
}

/**
 * Returns the answer that creates a key. With `validate_only` there is no key, so none is shown.
 */
function shownOnce(
  request: FastifyRequest,
  created: ApiKeyRow,
  value: string,
): ApiKeyRow & { value?: string } {
  return isValidateOnly(request) ? created : { ...created, value };
}
