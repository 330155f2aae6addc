import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
} from 'fastify';
import type { TSchema } from 'typebox';
import { changesOf } from '../activity/changes.ts';
import type { Change } from '../activity/changes.ts';
import type { Fields } from '../fields.ts';
import type { Queryable, Transaction } from '../postgres/database.ts';
import { missing } from './errors.ts';
import { ifMatch } from './etag.ts';
import { PageQuery, answerPage, pageOf } from './lists/pagination.ts';
import type { List } from './lists/pagination.ts';
import { write } from './write.ts';
import type { Afterwards, Entry, RecordActivity } from './write.ts';

/** The right to read records of a project, which each member has. */
export const reading = { scope: 'project:read', within: 'project' } as const;
/** The right to change them, which administrators have. */
export const changing = { scope: 'project:write', within: 'project', level: 8 } as const;

/** The words of an operation in the API's document. */
type Words = Pick<FastifySchema, 'summary' | 'description' | 'operationId' | 'tags'>;
type Config = FastifyContextConfig;

/** Records of one kind, for the routes of one of them. */
export type Records<Row> = {
  /** The path and the schema of one record, and the configs of its routes. */
  url: string;
  answer: TSchema;
  reading: Config;
  changing: Config;
  /** Returns the record that the path names; throws 404 without one. */
  get: (db: Queryable, request: FastifyRequest, lock?: 'lock') => Promise<Row>;
  /** Returns the locked record; default: `get` with its lock. */
  hold?: (tx: Transaction, request: FastifyRequest) => Promise<Row>;
  /** Returns the log's entry. `unseen` are changes that the shown fields hide. */
  entry: (
    activity: string,
    before: Row | undefined,
    after: Row | undefined,
    unseen: readonly Change[],
    request: FastifyRequest,
  ) => Entry;
};

/** A request that changes something, with its transaction. */
type Writing = {
  request: FastifyRequest;
  reply: FastifyReply;
  tx: Transaction;
  record: RecordActivity;
  afterwards: Afterwards;
};
/** A locked record before its change. */
type Locked<Row> = {
  tx: Transaction;
  request: FastifyRequest;
  before: Row;
  afterwards: Afterwards;
};
/**
 * The result of a change: changes that the shown fields hide, or a function for the record after
 * the change, which may return them.
 */
type Ending<Row> = readonly Change[] | void | ((after: Row) => readonly Change[] | Promise<void>);

/** Options of one route: its refusals, and its own config if it differs from the other routes. */
type Own = Words & { config?: Config; refusals?: Record<number, unknown> };

/** The routes of one record. */
type Routes<Row, Patch extends TSchema, Put extends TSchema> = {
  retrieve?: Words;
  /** PATCH and PUT. `apply` reads the body by the schema that it gets. */
  change?: Own & {
    patch: Words & { body: Patch };
    put: Words & { body: Put };
    apply: (locked: Locked<Row> & { schema: Patch | Put }) => Promise<Ending<Row>>;
  };
  remove?: Own & { apply: (locked: Locked<Row>) => Promise<unknown> };
};

/**
 * Returns a function for the log's entries of one kind of records. `unsaid` names fields that the
 * log omits, because they belong to the server or to other records.
 */
export function entryWriter<Row extends { id: string | number }>(
  scope: string,
  nameOf: (row: Row) => string | null,
  unsaid: readonly string[] = [],
) {
  return (
    activity: string,
    before: (Row & Fields) | undefined,
    after: (Row & Fields) | undefined,
    unseen: readonly Change[] = [],
  ): Entry => {
    const row = (after ?? before)!;
    const changes = [...changesOf(before, after, unsaid), ...unseen];
    return { activity, scope, item_id: String(row.id), item_name: nameOf(row), changes };
  };
}

/** Adds a route whose schema stands beside its path and config. */
export function addRoute(
  app: FastifyInstance,
  {
    method = 'GET',
    url,
    config,
    handler,
    ...schema
  }: FastifySchema & {
    method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
    url: string;
    config: Config;
    handler: (request: FastifyRequest, reply: FastifyReply) => unknown;
  },
): void {
  app.route({ method, url, config, schema, handler });
}

/** Adds the route of a list that is answered page by page. */
export function addList<Row = unknown>(
  app: FastifyInstance,
  {
    url,
    config,
    answer,
    rows,
    shown,
    querystring = PageQuery,
    ...words
  }: Words & {
    url: string;
    config: Config;
    answer: TSchema;
    querystring?: TSchema;
    rows: (request: FastifyRequest) => List | Promise<List>;
    /** Returns what is answered for a row, if that is not the row. */
    shown?: (row: Row) => unknown;
  },
): void {
  app.get(
    url,
    { config, schema: { ...words, querystring, response: { 200: pageOf(answer) } } },
    async (request) => {
      const page = await answerPage<Row>(request, app.context.db, await rows(request));
      return shown === undefined ? page : { ...page, results: page.results.map(shown) };
    },
  );
}

/**
 * Adds a route that changes something, by default a POST: `work` is that of `write`, and the first
 * status of `response` is the one of its answer.
 */
export function addWrite<Answer>(
  app: FastifyInstance,
  {
    method = 'POST',
    url,
    config,
    work,
    ...schema
  }: Words & {
    method?: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
    url: string;
    config: Config;
    body?: unknown;
    response: Partial<Record<200 | 201 | 202 | 204, unknown>> & Record<number, unknown>;
    work: (given: Writing) => Promise<Answer>;
  },
): void {
  const status = Number(Object.keys(schema.response)[0]) as 200 | 201 | 202 | 204;
  app.route({
    method,
    url,
    config,
    schema,
    handler: (request, reply) =>
      write(request, reply, status, (tx, record, afterwards) =>
        work({ request, reply, tx, record, afterwards }),
      ),
  });
}

/**
 * Adds the routes of one record: GET, PATCH and PUT, DELETE. A change is applied once the record is
 * locked and `If-Match` has passed.
 */
export function addRecord<Row, Patch extends TSchema = TSchema, Put extends TSchema = TSchema>(
  app: FastifyInstance,
  records: Records<Row>,
  { retrieve, change, remove }: Routes<Row, Patch, Put>,
): void {
  const { url, answer, reading: config, get } = records;
  if (retrieve !== undefined)
    app.get(url, { config, schema: { ...retrieve, response: { 200: answer } } }, async (request) =>
      config.record === undefined ? get(app.context.db, request) : (request.record ?? missing()),
    );
  if (change !== undefined) addChange(app, records, change);
  if (remove !== undefined) addRemoval(app, records, remove);
}

function held<Row>(get: Records<Row>['get']) {
  return (tx: Transaction, request: FastifyRequest) => get(tx, request, 'lock');
}

function addChange<Row, Patch extends TSchema, Put extends TSchema>(
  app: FastifyInstance,
  { url, answer, changing, get, hold = held(get), entry }: Records<Row>,
  {
    config = changing,
    refusals,
    patch,
    put,
    apply,
    ...words
  }: NonNullable<Routes<Row, Patch, Put>['change']>,
): void {
  const response = { 200: answer, ...refusals };
  const change = (schema: Patch | Put) => (request: FastifyRequest, reply: FastifyReply) =>
    write(request, reply, 200, async (tx, record, afterwards) => {
      const before = await hold(tx, request);
      ifMatch(request, before);
      const ending = await apply({ tx, request, before, afterwards, schema });
      const after = await get(tx, request);
      const unseen = (typeof ending === 'function' ? await ending(after) : ending) ?? [];
      record(entry('updated', before, after, unseen, request), before);
      return after;
    });
  app.patch(url, { config, schema: { ...words, ...patch, response } }, change(patch.body));
  app.put(url, { config, schema: { ...words, ...put, response } }, change(put.body));
}

function addRemoval<Row>(
  app: FastifyInstance,
  { url, changing, get, hold = held(get), entry }: Records<Row>,
  {
    config = changing,
    refusals,
    apply,
    ...words
  }: NonNullable<Routes<Row, TSchema, TSchema>['remove']>,
): void {
  const response = { 204: { type: 'null' }, ...refusals };
  app.delete(url, { config, schema: { ...words, response } }, (request, reply) =>
    write(request, reply, 204, async (tx, record, afterwards) => {
      const before = await hold(tx, request);
      ifMatch(request, before);
      record(entry('deleted', before, undefined, [], request));
      await apply({ tx, request, before, afterwards });
    }),
  );
}
