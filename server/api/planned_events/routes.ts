import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { planned_events_max } from '../../engine/ingest/rules/tracking_plan.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { uuidParameter } from '../../platform/http/caller/access.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { invalid, missing } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { PageQuery, answerPage, pageOf } from '../../platform/http/lists/pagination.ts';
import { write } from '../../platform/http/write.ts';
import type { Entry } from '../../platform/http/write.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { beginRuleChange } from '../ingestion_rules/store.ts';
import {
  PlannedEvent,
  PlannedEventCreate,
  PlannedEventPatch,
  planned_event_defaults,
} from './schema.ts';
import type { PlannedEventFields, PlannedEventRow } from './schema.ts';
import {
  deletePlannedEvent,
  findPlannedEvent,
  listPlannedEvents,
  lookAtPlan,
  storePlannedEvent,
} from './store.ts';

const list = '/api/projects/:project_id/planned_events/';
const one = `${list}:id/`;
const reading = { scope: 'project:read', within: 'project' } as const;
const changing = { scope: 'project:write', within: 'project', level: 8 } as const;
const holds = 'The change holds for requests that begin a second later.';

/**
 * `/api/projects/:project_id/planned_events/`: the tracking plan of a project, event by event;
 * list, create, change, delete.
 */
export function plannedEventRoutes(app: FastifyInstance, deps: Deps): void {
  listRoutes(app, deps);
  recordRoute(app, deps);
  changeRoutes(app);
  deleteRoute(app);
}

function listRoutes(app: FastifyInstance, { db }: Deps): void {
  app.get(
    list,
    {
      config: reading,
      schema: {
        summary: 'List the events of the tracking plan by name',
        description: '`unplanned_events` of the project decides on events that the plan lacks.',
        querystring: PageQuery,
        response: { 200: pageOf(PlannedEvent) },
      },
    },
    (request) =>
      answerPage<PlannedEventRow>(request, db, listPlannedEvents(request.access.team_id!)),
  );

  app.post(
    list,
    {
      config: changing,
      schema: {
        summary: 'Add an event to the tracking plan',
        description: holds,
        body: PlannedEventCreate,
        response: { 201: PlannedEvent },
      },
    },
    (request, reply) =>
      write(request, reply, 201, async (tx, record) => {
        const team_id = request.access.team_id!;
        const planned = { ...planned_event_defaults, ...body(request, PlannedEventCreate) };
        await beginRuleChange(tx, team_id);
        const id = await storeChecked(tx, team_id, planned);
        const created = await findPlannedEvent(tx, team_id, id);
        record(entryOf('created', undefined, created));
        return created;
      }),
  );
}

function recordRoute(app: FastifyInstance, { db }: Deps): void {
  app.get(
    one,
    {
      config: reading,
      schema: {
        summary: 'Retrieve an event of the tracking plan',
        response: { 200: PlannedEvent },
      },
    },
    (request) => getPlanned(db, request),
  );
}

function deleteRoute(app: FastifyInstance): void {
  app.delete(
    one,
    {
      config: changing,
      schema: {
        summary: 'Delete an event from the tracking plan',
        description: holds,
        response: { 204: { type: 'null' } },
      },
    },
    (request, reply) =>
      write(request, reply, 204, async (tx, record) => {
        await beginRuleChange(tx, request.access.team_id!);
        const before = await getPlanned(tx, request, 'lock');
        ifMatch(request, before);
        record(entryOf('deleted', before, undefined));
        await deletePlannedEvent(tx, before.id);
      }),
  );
}

function changeRoutes(app: FastifyInstance): void {
  const change =
    (schema: typeof PlannedEventPatch | typeof PlannedEventCreate) =>
    (request: FastifyRequest, reply: FastifyReply) =>
      write(request, reply, 200, async (tx, record) => {
        const team_id = request.access.team_id!;
        await beginRuleChange(tx, team_id);
        const before = await getPlanned(tx, request, 'lock');
        ifMatch(request, before);
        const planned = { ...before, ...body(request, schema) };
        await storeChecked(tx, team_id, planned, before.id);
        const after = await getPlanned(tx, request);
        record(entryOf('updated', before, after), before);
        return after;
      });
  const response = { 200: PlannedEvent };
  app.patch(
    one,
    {
      config: changing,
      schema: {
        summary: 'Change the sent fields of a planned event',
        description: holds,
        body: PlannedEventPatch,
        response,
      },
    },
    change(PlannedEventPatch),
  );
  app.put(
    one,
    {
      config: changing,
      schema: {
        summary: 'Change a planned event; what may be left out keeps its value',
        description: holds,
        body: PlannedEventCreate,
        response,
      },
    },
    change(PlannedEventCreate),
  );
}

/** Throws a 400 for a name that the plan has, twice a property, or a plan that is full. */
async function storeChecked(
  tx: Transaction,
  team_id: number,
  planned: PlannedEventFields,
  id?: string,
): Promise<string> {
  const names = planned.properties.map(({ name }) => name);
  const twice = names.findIndex((name, at) => names.indexOf(name) < at);
  if (twice !== -1)
    throw invalid(
      `properties__${twice}__name`,
      'unique',
      'The event has a property of this name already.',
    );
  const { count, is_taken } = await lookAtPlan(tx, team_id, planned.event, id ?? null);
  if (is_taken) throw invalid('event', 'unique', 'The plan has an event of this name.');
  if (id === undefined && count >= planned_events_max)
    throw invalid(null, 'max_items', `A plan has at most ${planned_events_max} events.`);
  return storePlannedEvent(tx, team_id, planned, id);
}

/** The planned event that the path names; throws 404 without one. */
async function getPlanned(
  db: Queryable,
  request: FastifyRequest,
  lock?: 'lock',
): Promise<PlannedEventRow> {
  const id = uuidParameter(request, 'id');
  return (await findPlannedEvent(db, request.access.team_id!, id, lock)) ?? missing();
}

function entryOf(
  activity: string,
  before: PlannedEventRow | undefined,
  after: PlannedEventRow | undefined,
): Entry {
  const { id, event } = (after ?? before)!;
  return {
    activity,
    scope: 'planned_event',
    item_id: id,
    item_name: event,
    changes: changesOf(before, after, ['updated_at', 'managed_by']),
  };
}
