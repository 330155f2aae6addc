import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { uuidParameter } from '../../platform/http/caller/access.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { shownOnce } from '../../platform/http/caller/key_rules.ts';
import { conflict, invalid, missing } from '../../platform/http/errors.ts';
import { Problem } from '../../platform/http/responses.ts';
import { addList, addRecord, addWrite, entryWriter } from '../../platform/http/records.ts';
import type { Records } from '../../platform/http/records.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import {
  NewWriteKey,
  WriteKey,
  WriteKeyCreate,
  WriteKeyPatch,
  WriteKeyPut,
  WriteKeyRoll,
  overlap_seconds_usual,
} from './schema.ts';
import type { WriteKeyRow } from './schema.ts';
import {
  countLiveWriteKeys,
  deleteWriteKey,
  findWriteKey,
  insertWriteKey,
  isRolled,
  listWriteKeys,
  markRolled,
  renameWriteKey,
} from './store.ts';
import { counted } from '../../platform/counted.ts';

const list = '/api/projects/:project_id/write_keys/';
const one = `${list}:id/`;
const reading = { scope: 'project:read', within: 'project' } as const;
const changing = { scope: 'project:write', within: 'project', level: 8 } as const;
/** Most working keys of a project. */
const keys_max = 100;

const entryOf = entryWriter('write_key', ({ name }: WriteKeyRow) => name, [
  'last_used_at',
  'updated_at',
  'managed_by',
]);
const write_keys: Records<WriteKeyRow> = {
  url: one,
  answer: WriteKey,
  reading,
  changing,
  get: getKey,
  entry: entryOf,
};

/**
 * Routes of `/api/projects/:project_id/write_keys/`: the public keys with which SDKs send events;
 * list, create, retrieve, rename, rotate, revoke.
 */
export function writeKeyRoutes(app: FastifyInstance, deps: Deps): void {
  addList(app, {
    url: list,
    config: reading,
    summary: 'List the write keys of a project, newest first',
    description: "The project's own `api_token` is one too; the project shows it.",
    answer: WriteKey,
    rows: ({ access }) => listWriteKeys(access.team_id!),
  });
  createRoute(app, deps);
  recordRoutes(app);
  rollRoute(app, deps);
}

function createRoute(app: FastifyInstance, { clock }: Deps): void {
  addWrite(app, {
    url: list,
    config: { ...changing, no_store: true },
    summary: 'Create a write key',
    body: WriteKeyCreate,
    response: { 201: NewWriteKey },
    work: async ({ request, tx, record }) => {
      const team_id = request.access.team_id!;
      const { name } = body(request, WriteKeyCreate);
      refuseTooMany(await countLiveWriteKeys(tx, team_id, clock.now()));
      const created = await insertWriteKey(tx, team_id, name);
      record(entryOf('created', undefined, created));
      return shown(request, created);
    },
  });
}

function recordRoutes(app: FastifyInstance): void {
  addRecord(app, write_keys, {
    retrieve: { summary: 'Retrieve a write key' },
    change: {
      patch: { summary: 'Change the sent fields of a write key', body: WriteKeyPatch },
      put: { summary: 'Give a write key another name', body: WriteKeyPut },
      apply: async ({ tx, request, before, schema }) => {
        const { name } = body(request, schema);
        if (name !== undefined) await renameWriteKey(tx, before.id, name);
      },
    },
    remove: {
      summary: 'Revoke a write key at once',
      apply: ({ tx, before }) => deleteWriteKey(tx, before.id),
    },
  });
}

function rollRoute(app: FastifyInstance, { clock }: Deps): void {
  const schema = {
    summary: 'Replace a write key by a new one with the same name',
    description: 'The answer is the new key. The old one works for `overlap_seconds` more.',
    body: WriteKeyRoll,
    response: {
      201: NewWriteKey,
      409: { ...Problem, description: 'The key was rotated and has a successor.' },
    },
  };
  const config = { ...changing, no_store: true };
  addWrite(app, {
    url: `${one}roll/`,
    config,
    ...schema,
    work: async ({ request, tx, record }) => {
      const team_id = request.access.team_id!;
      const live = await countLiveWriteKeys(tx, team_id, clock.now());
      const before = await getKey(tx, request, 'lock');
      const { overlap_seconds = overlap_seconds_usual } = body(request, WriteKeyRoll);
      await refuseRolled(tx, before);
      await markRolled(tx, before.id, clock.now(), overlap_seconds);
      const after = await getKey(tx, request);
      refuseTooMany(overlap_seconds === 0 ? live - 1 : live);
      const created = await insertWriteKey(tx, team_id, before.name);
      record(entryOf('rolled', before, { ...after, replaced_by: created.id }));
      return shown(request, created);
    },
  });
}

function shown(request: FastifyRequest, { value, ...created }: WriteKeyRow) {
  return shownOnce(request, created, value);
}

async function refuseRolled(tx: Transaction, key: WriteKeyRow): Promise<void> {
  if (await isRolled(tx, key.id))
    throw conflict(
      'This key was rotated and has a successor: rotate the successor, or create a new key.',
    );
}

function refuseTooMany(live: number): void {
  if (live >= keys_max)
    throw invalid(
      null,
      'max_items',
      `The project has ${counted(live, 'write key')} that work, and ${keys_max} is the most: ` +
        'revoke the unused ones, then try again.',
    );
}

/** Returns the key of the path; throws 404 if it does not exist. */
async function getKey(db: Queryable, request: FastifyRequest, lock?: 'lock'): Promise<WriteKeyRow> {
  const id = uuidParameter(request, 'id');
  return (await findWriteKey(db, request.access.team_id!, id, lock)) ?? missing();
}
