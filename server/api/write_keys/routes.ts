import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { uuidParameter } from '../../platform/http/caller/access.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { conflict, invalid, missing } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { PageQuery, answerPage, pageOf } from '../../platform/http/lists/pagination.ts';
import { isValidateOnly } from '../../platform/http/lists/query.ts';
import { Problem } from '../../platform/http/responses.ts';
import { write } from '../../platform/http/write.ts';
import type { Entry } from '../../platform/http/write.ts';
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

/**
 * Routes of `/api/projects/:project_id/write_keys/`: the public keys with which SDKs send events;
 * list, create, retrieve, rename, rotate, revoke.
 */
export function writeKeyRoutes(app: FastifyInstance, deps: Deps): void {
  listRoutes(app, deps);
  recordRoutes(app, deps);
  rollRoute(app, deps);
}

function listRoutes(app: FastifyInstance, { db, clock }: Deps): void {
  app.get(
    list,
    {
      config: reading,
      schema: {
        summary: 'List the write keys of a project, newest first',
        description: "The project's own `api_token` is one too; the project shows it.",
        querystring: PageQuery,
        response: { 200: pageOf(WriteKey) },
      },
    },
    (request) => {
      const team_id = request.access.team_id!;
      return answerPage<WriteKeyRow>(request, db, listWriteKeys(team_id));
    },
  );

  app.post(
    list,
    {
      config: { ...changing, no_store: true },
      schema: {
        summary: 'Create a write key',
        body: WriteKeyCreate,
        response: { 201: NewWriteKey },
      },
    },
    (request, reply) =>
      write(request, reply, 201, async (tx, record) => {
        const team_id = request.access.team_id!;
        const { name } = body(request, WriteKeyCreate);
        refuseTooMany(await countLiveWriteKeys(tx, team_id, clock.now()));
        const created = await insertWriteKey(tx, team_id, name);
        record(entryOf('created', undefined, created));
        return shownToCreator(request, created);
      }),
  );
}

function recordRoutes(app: FastifyInstance, { db }: Deps): void {
  app.get(
    one,
    { config: reading, schema: { summary: 'Retrieve a write key', response: { 200: WriteKey } } },
    (request) => getKey(db, request),
  );

  const change =
    (schema: typeof WriteKeyPut | typeof WriteKeyPatch) =>
    (request: FastifyRequest, reply: FastifyReply) =>
      write(request, reply, 200, async (tx, record) => {
        const before = await getKey(tx, request, 'lock');
        ifMatch(request, before);
        const { name } = body(request, schema);
        if (name !== undefined) await renameWriteKey(tx, before.id, name);
        const after = await getKey(tx, request);
        record(entryOf('updated', before, after), before);
        return after;
      });
  const response = { 200: WriteKey };
  app.patch(
    one,
    {
      config: changing,
      schema: { summary: 'Change the sent fields of a write key', body: WriteKeyPatch, response },
    },
    change(WriteKeyPatch),
  );
  app.put(
    one,
    {
      config: changing,
      schema: { summary: 'Give a write key another name', body: WriteKeyPut, response },
    },
    change(WriteKeyPut),
  );

  app.delete(
    one,
    {
      config: changing,
      schema: { summary: 'Revoke a write key at once', response: { 204: { type: 'null' } } },
    },
    (request, reply) =>
      write(request, reply, 204, async (tx, record) => {
        const before = await getKey(tx, request, 'lock');
        ifMatch(request, before);
        record(entryOf('deleted', before, undefined));
        await deleteWriteKey(tx, before.id);
      }),
  );
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
  app.post(`${one}roll/`, { config, schema }, (request, reply) =>
    write(request, reply, 201, async (tx, record) => {
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
      return shownToCreator(request, created);
    }),
  );
}

/**
 * Returns the answer that creates a key. `validate_only` creates none, and a value that will never
 * work must not end up in a page.
 */
function shownToCreator(
  request: FastifyRequest,
  { value, ...created }: WriteKeyRow,
): Omit<WriteKeyRow, 'value'> & { value?: string } {
  return isValidateOnly(request) ? created : { ...created, value };
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

function entryOf(
  activity: string,
  before: WriteKeyRow | undefined,
  after: (WriteKeyRow & { replaced_by?: string }) | undefined,
): Entry {
  const { id, name } = (after ?? before)!;
  return {
    activity,
    scope: 'write_key',
    item_id: id,
    item_name: name,
    changes: changesOf(before, after, ['last_used_at', 'updated_at', 'managed_by']),
  };
}
