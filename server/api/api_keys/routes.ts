import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { personOf, uuidParameter } from '../../platform/http/caller/access.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { refuseRevival, shownOnce } from '../../platform/http/caller/key_rules.ts';
import { missing, notFound } from '../../platform/http/errors.ts';
import { confirmCaller } from '../../platform/http/confirm_access.ts';
import { Problem } from '../../platform/http/responses.ts';
import { addList, addRecord, addRoute, addWrite } from '../../platform/http/records.ts';
import type { Records } from '../../platform/http/records.ts';
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
  rollRoute(app, deps);
  organizationKeyRoutes(app, deps);
  metadataRoutes(app, deps);
  consentRoutes(app, deps);
  tokenRoutes(app, deps);
}

function currentRoute(app: FastifyInstance, { db }: Deps): void {
  const missing = { ...Problem, description: 'The request has no personal API key.' };
  addRoute(app, {
    url: `${list}@current/`,
    config: { scope: 'any', service_keys: true },
    operationId: 'personal_api_keys_current_retrieve',
    summary: 'Retrieve the key of the request, with its owner',
    response: { 200: CurrentApiKey, 404: missing },
    handler: async (request) => {
      const { key_id } = request.caller;
      const found = key_id === null ? undefined : await findCurrentApiKey(db, key_id);
      if (found === undefined) throw notFound();
      return found;
    },
  });
}

function listRoutes(app: FastifyInstance, { secrets, clock }: Deps): void {
  addList(app, {
    url: list,
    config: reading,
    summary: 'List your keys, newest first',
    answer: ApiKey,
    rows: (request) => listApiKeys(personOf(request)),
  });

  addWrite(app, {
    url: list,
    config: { ...writing, no_store: true },
    summary: 'Create a key',
    body: ApiKeyCreate,
    response: { 201: NewApiKey },
    work: async ({ request, tx, record }) => {
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
    },
  });
}

function recordRoutes(app: FastifyInstance, { clock }: Deps): void {
  const refused =
    'The key has expired and cannot be restored, was rotated and cannot be extended, or is the ' +
    'grant of an assistant.';
  const records: Records<ApiKeyRow> = {
    url: one,
    answer: ApiKey,
    reading,
    changing: writing,
    get: getOwnKey,
    hold: lockOwnKey,
    entry: (activity, before, after, _, request) => entryOf(request, activity, before, after),
  };
  addRecord(app, records, {
    retrieve: { summary: 'Retrieve one of your keys' },
    change: {
      refusals: { 409: { ...Problem, description: refused } },
      patch: { summary: 'Change the sent fields of a key', body: ApiKeyPatch },
      put: { summary: 'Change a key; what may be left out keeps its value', body: ApiKeyPut },
      apply: async ({ tx, request, before, schema }) => {
        refuseGrant(before);
        const now_ms = clock.now();
        const changes = await keyBody(request, schema, { db: tx, now_ms });
        refuseRevival(before, await isRolled(tx, before.id), changes.expires_at, now_ms);
        const kept =
          changes.scoped_organizations === undefined
            ? changes
            : keptToReach(personOf(request), changes);
        await updateApiKey(tx, before.id, kept);
      },
    },
    remove: {
      summary: 'Revoke a key at once',
      apply: ({ tx, before }) => deleteApiKey(tx, before.id),
    },
  });
}

function rollRoute(app: FastifyInstance, deps: Deps): void {
  const rolling = {
    summary: 'Replace a key by a new one with the same label, scopes, limits and expiry',
    description:
      'The answer is the new key. The old one keeps working for `overlap_seconds`, but never ' +
      'beyond its own end.',
    body: ApiKeyRoll,
    response: { 201: NewApiKey },
  };
  const config = { ...writing, no_store: true };
  addWrite(app, {
    url: `${one}roll/`,
    config,
    ...rolling,
    work: async ({ request, tx, record }) => {
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
    },
  });
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
