import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { addColumns, removeColumns, schema_columns_max } from '../../engine/model/schema/store.ts';
import type { TypedProperty } from '../../engine/model/schema/store.ts';
import type { Change } from '../../platform/activity/changes.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { invalid, invalidMany, missing } from '../../platform/http/errors.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { PageQuery, pageAnswer, pageAsked } from '../../platform/http/lists/pagination.ts';
import { query } from '../../platform/http/lists/query.ts';
import type { Entry } from '../../platform/http/write.ts';
import { addRoute, addWrite } from '../../platform/http/records.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import {
  NewSchemaColumn,
  SchemaColumn,
  SchemaColumnQuery,
  SchemaColumns,
  SchemaFreeze,
  SchemaFrozen,
  SchemaProposals,
} from './schema.ts';
import { findColumn, idOf, listColumns, listProposals } from './store.ts';

const base = '/api/projects/:project_id/schema_columns/';
const reading = { scope: 'batch_export:read', within: 'project' } as const;
const writing = { scope: 'batch_export:write', within: 'project' } as const;
const full =
  `The schema has ${schema_columns_max} columns, the maximum: a removed column keeps its place. ` +
  'Other properties stay in the rest column.';

/**
 * Routes of `/api/projects/:project_id/schema_columns/`: the properties that are columns of
 * exports.
 */
export function schemaColumnRoutes(app: FastifyInstance, deps: Deps): void {
  listRoutes(app, deps);
  createRoute(app);
  freezeRoute(app);
  recordRoutes(app, deps);
}

function listRoutes(app: FastifyInstance, { db }: Deps): void {
  addRoute(app, {
    url: base,
    config: reading,
    summary: "List the columns of a project's schema, in the order of their creation",
    description:
      'Columns of events precede columns of groups, then of persons. The list includes ' +
      'removed columns.',
    querystring: SchemaColumnQuery,
    response: { 200: SchemaColumns },
    handler: async (request) => {
      const { source, is_filled } = query(request, SchemaColumnQuery);
      const { schema_number, columns } = await listColumns(db, request.access.team_id!);
      const matching = columns.filter(
        (one) =>
          (source === undefined || one.source === source) &&
          (is_filled === undefined || one.is_filled === is_filled),
      );
      return { ...pageIn(request, matching), schema_number };
    },
  });
  addRoute(app, {
    url: `${base}proposals/`,
    config: reading,
    summary: 'List the properties that could be columns, with the types of their values',
    description:
      'Proposed from the counts of the event catalogue, properties of the most events ' +
      'first. A property needs ten values. A removed property is not proposed again.',
    querystring: PageQuery,
    response: { 200: SchemaProposals },
    handler: async (request) => pageIn(request, await listProposals(db, request.access.team_id!)),
  });
}

function pageIn<Row>(request: FastifyRequest, rows: Row[]) {
  const page = pageAsked(request);
  const results = rows.slice(page.offset, page.offset + page.limit);
  return pageAnswer(request, page, rows.length, results);
}

function createRoute(app: FastifyInstance): void {
  addWrite(app, {
    url: base,
    config: writing,
    summary: 'Give a property a column',
    description:
      'If a property already has a column of another type, it gets a second one: a ' +
      'column never changes its type. A removed column is restored under its name.',
    body: NewSchemaColumn,
    response: { 201: SchemaColumn },
    work: async ({ request, tx, record }) => {
      const team_id = request.access.team_id!;
      const { property, type, source = 'event' } = body(request, NewSchemaColumn);
      const asked = [{ source, property, type }];
      const { columns } = await addColumns(tx, team_id, asked, request.caller.user_id);
      const [{ column, is_filled }] = columns as [(typeof columns)[0]];
      if (column === undefined) throw invalid('property', 'max_items', full);
      if (is_filled)
        throw invalid('property', 'unique', `The property already has the column ${column}.`);
      const created = (await findColumn(tx, team_id, idOf(team_id, { source, column })))!;
      record(entryOf('created', created));
      return created;
    },
  });
}

function freezeRoute(app: FastifyInstance): void {
  addWrite(app, {
    url: `${base}freeze/`,
    config: writing,
    summary: 'Give proposed properties their columns, all or some of them',
    body: SchemaFreeze,
    response: { 200: SchemaFrozen },
    work: async ({ request, tx, record }) => {
      const team_id = request.access.team_id!;
      const wanted = await wantedIn(request, tx);
      const by = request.caller.user_id;
      const { schema_number, columns } = await addColumns(tx, team_id, wanted, by);
      const added = columns.filter((one) => one.column !== undefined && !one.is_filled);
      const changes = added.map(({ column, type }): Change => ({
        field: column!,
        action: 'created',
        before: null,
        after: type,
      }));
      record(changes.length === 0 ? 'nothing' : { ...schemaEntry(team_id), changes });
      return {
        schema_number,
        frozen: added.map(({ column }) => column!),
        left_out: columns.flatMap((one) => (one.column === undefined ? one.property : [])),
      };
    },
  });
}

const schemaEntry = (team_id: number) => ({
  activity: 'frozen',
  scope: 'schema_column',
  item_id: String(team_id),
  item_name: null,
});

/**
 * Returns the properties with their types. Throws one 400 that lists all properties without a type.
 */
async function wantedIn(request: FastifyRequest, tx: Transaction): Promise<TypedProperty[]> {
  const { properties } = body(request, SchemaFreeze);
  const proposed = await listProposals(tx, request.access.team_id!);
  if (properties === undefined) return proposed;
  const wrong: Violation[] = [];
  const wanted = properties.flatMap(({ source = 'event', property, type: chosen }, index) => {
    const isMeant = (one: TypedProperty) => one.source === source && one.property === property;
    const type = chosen ?? proposed.find(isMeant)?.type;
    if (type !== undefined) return { source, property, type };
    wrong.push({
      attr: `properties__${index}__type`,
      code: 'required',
      detail: 'No type is proposed for this property: it has a column, or too few values.',
    });
    return [];
  });
  if (wrong.length > 0) throw invalidMany(wrong);
  return wanted;
}

function recordRoutes(app: FastifyInstance, { db }: Deps): void {
  addRoute(app, {
    url: `${base}:id/`,
    config: reading,
    summary: 'Retrieve a column of the schema',
    response: { 200: SchemaColumn },
    handler: (request) => getColumn(request, db),
  });
  addWrite(app, {
    method: 'DELETE',
    url: `${base}:id/`,
    config: writing,
    summary: 'Remove a column from the schema',
    description:
      'From now on, exports leave it empty, and its values go into the rest column. ' +
      'Sluice does not drop it at destinations, and never gives its name to another ' +
      'property.',
    response: { 204: { type: 'null' } },
    work: async ({ request, tx, record }) => {
      const found = await getColumn(request, tx);
      ifMatch(request, found);
      if (!found.is_filled) return missing();
      await removeColumns(tx, request.access.team_id!, [found]);
      record(entryOf('deleted', found));
    },
  });
}

async function getColumn(request: FastifyRequest, db: Queryable): Promise<SchemaColumn> {
  const { id } = request.params as { id: string };
  return (await findColumn(db, request.access.team_id!, id)) ?? missing();
}

/** Returns the activity entry for a created or removed column. */
function entryOf(activity: 'created' | 'deleted', column: SchemaColumn): Entry {
  const { id, source, property, type } = column;
  const said = { source, property, type, column: column.column };
  return {
    activity,
    scope: 'schema_column',
    item_id: id,
    item_name: property,
    changes: activity === 'created' ? changesOf(undefined, said) : changesOf(said, undefined),
  };
}
