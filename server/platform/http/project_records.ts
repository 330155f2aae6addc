import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TObject, TSchema } from 'typebox';
import { changesOf } from '../activity/changes.ts';
import type { Fields } from '../fields.ts';
import type { Database, Queryable, Transaction } from '../postgres/database.ts';
import { body } from './bodies/body.ts';
import { uuidParameter } from './caller/access.ts';
import { missing } from './errors.ts';
import { ifMatch } from './etag.ts';
import { PageQuery, answerPage, pageOf } from './lists/pagination.ts';
import type { List } from './lists/pagination.ts';
import { write } from './write.ts';
import type { Entry } from './write.ts';

/** The right to read records of a project, which each member has. */
export const reading = { scope: 'project:read', within: 'project' } as const;
/** The right to change them, which administrators have. */
export const changing = { scope: 'project:write', within: 'project', level: 8 } as const;

/** The words of an operation in the API's document. */
type Words = { summary: string; description?: string };

/** Records of a project that share list, create, change and delete. */
export type ProjectRecords<Row extends { id: string }, Wanted> = {
  /** The path of the list; `:id/` after it is a record. */
  path: string;
  schemas: { answer: TSchema; create: TObject; patch: TObject };
  words: Record<'list' | 'create' | 'retrieve' | 'patch' | 'put' | 'delete', Words>;
  /** Their name in the activity log, and that of one record. */
  scope: string;
  nameOf: (row: Row) => string;
  list: (team_id: number) => List;
  find: (db: Queryable, team_id: number, id: string, lock?: 'lock') => Promise<Row | undefined>;
  /** Takes the lock that protects the project's records. */
  begin: (tx: Transaction, team_id: number) => Promise<void>;
  /** Returns a whole record for the sent fields of a new one. */
  complete: (tx: Transaction, team_id: number, sent: Fields) => Promise<Wanted>;
  /** Checks and stores a record, a new one without `before`; throws 400. Returns its id. */
  store: (tx: Transaction, team_id: number, record: Wanted, before?: Row) => Promise<string>;
  remove: (tx: Transaction, id: string) => Promise<void>;
};

/** Adds the routes of the records: list, create, retrieve, change, delete. */
export function recordRoutes<Row extends { id: string }, Wanted>(
  app: FastifyInstance,
  db: Database,
  records: ProjectRecords<Row, Wanted>,
): void {
  const { path, schemas, words } = records;
  const one = `${path}:id/`;
  const response = { 200: schemas.answer };
  app.get(
    path,
    {
      config: reading,
      schema: {
        ...words.list,
        querystring: PageQuery,
        response: { 200: pageOf(schemas.answer) },
      },
    },
    (request) => answerPage<Row>(request, db, records.list(request.access.team_id!)),
  );
  app.post(
    path,
    {
      config: changing,
      schema: { ...words.create, body: schemas.create, response: { 201: schemas.answer } },
    },
    (request, reply) => create(records, request, reply),
  );
  app.get(one, { config: reading, schema: { ...words.retrieve, response } }, (request) =>
    find(records, db, request),
  );
  app.patch(
    one,
    { config: changing, schema: { ...words.patch, body: schemas.patch, response } },
    (request, reply) => change(records, schemas.patch, request, reply),
  );
  app.put(
    one,
    { config: changing, schema: { ...words.put, body: schemas.create, response } },
    (request, reply) => change(records, schemas.create, request, reply),
  );
  app.delete(
    one,
    { config: changing, schema: { ...words.delete, response: { 204: { type: 'null' } } } },
    (request, reply) => remove(records, request, reply),
  );
}

function create<Row extends { id: string }, Wanted>(
  records: ProjectRecords<Row, Wanted>,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  return write(request, reply, 201, async (tx, record) => {
    const team_id = request.access.team_id!;
    const sent: Fields = body(request, records.schemas.create);
    await records.begin(tx, team_id);
    const wanted = await records.complete(tx, team_id, sent);
    const id = await records.store(tx, team_id, wanted);
    const created = await records.find(tx, team_id, id);
    record(entryOf(records, 'created', undefined, created));
    return created;
  });
}

function change<Row extends { id: string }, Wanted>(
  records: ProjectRecords<Row, Wanted>,
  schema: TObject,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  return write(request, reply, 200, async (tx, record) => {
    const team_id = request.access.team_id!;
    await records.begin(tx, team_id);
    const before = await find(records, tx, request, 'lock');
    ifMatch(request, before);
    const sent: Fields = body(request, schema);
    await records.store(tx, team_id, { ...before, ...sent } as unknown as Wanted, before);
    const after = await find(records, tx, request);
    record(entryOf(records, 'updated', before, after), before);
    return after;
  });
}

function remove<Row extends { id: string }, Wanted>(
  records: ProjectRecords<Row, Wanted>,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  return write(request, reply, 204, async (tx, record) => {
    await records.begin(tx, request.access.team_id!);
    const before = await find(records, tx, request, 'lock');
    ifMatch(request, before);
    record(entryOf(records, 'deleted', before, undefined));
    await records.remove(tx, before.id);
  });
}

/** Finds the record in the path; throws 404 without one. */
async function find<Row extends { id: string }>(
  records: Pick<ProjectRecords<Row, never>, 'find'>,
  db: Queryable,
  request: FastifyRequest,
  lock?: 'lock',
): Promise<Row> {
  const id = uuidParameter(request, 'id');
  return (await records.find(db, request.access.team_id!, id, lock)) ?? missing();
}

function entryOf<Row extends { id: string }>(
  { scope, nameOf }: Pick<ProjectRecords<Row, never>, 'scope' | 'nameOf'>,
  activity: string,
  before: Row | undefined,
  after: Row | undefined,
): Entry {
  const row = (after ?? before)!;
  return {
    activity,
    scope,
    item_id: row.id,
    item_name: nameOf(row),
    changes: changesOf(before, after, ['updated_at', 'managed_by']),
  };
}
