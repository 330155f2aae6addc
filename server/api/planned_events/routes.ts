import type { FastifyInstance } from 'fastify';
import { planned_events_max } from '../../engine/ingest/rules/tracking_plan.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { uuidParameter } from '../../platform/http/caller/access.ts';
import { invalid, missing } from '../../platform/http/errors.ts';
import {
  addList,
  addRecord,
  addWrite,
  changing,
  entryWriter,
  reading,
} from '../../platform/http/records.ts';
import type { Records } from '../../platform/http/records.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { beginRuleChange } from '../ingestion_rules/store.ts';
import {
  PlannedEvent,
  PlannedEventCreate,
  PlannedEventPatch,
  planned_event_defaults,
} from './schema.ts';
import { importRoute } from './import_route.ts';
import type { PlannedEventFields, PlannedEventRow } from './schema.ts';
import {
  deletePlannedEvent,
  findPlannedEvent,
  listPlannedEvents,
  lookAtPlan,
  storePlannedEvent,
} from './store.ts';

const holds = 'The change applies to requests that start a second later.';

const url = '/api/projects/:project_id/planned_events/';

const planned_events: Records<PlannedEventRow> = {
  url: `${url}:id/`,
  answer: PlannedEvent,
  reading,
  changing,
  get: async (db, request, lock) =>
    (await findPlannedEvent(db, request.access.team_id!, uuidParameter(request, 'id'), lock)) ??
    missing(),
  hold: async (tx, request) => {
    await beginRuleChange(tx, request.access.team_id!);
    return planned_events.get(tx, request, 'lock');
  },
  entry: entryWriter('planned_event', ({ event }) => event, ['updated_at', 'managed_by']),
};

/**
 * Routes of `/api/projects/:project_id/planned_events/`: the tracking plan of a project; list,
 * create, change, delete.
 */
export function plannedEventRoutes(app: FastifyInstance): void {
  addList(app, {
    url,
    config: reading,
    summary: 'List the events of the tracking plan by name',
    description: '`unplanned_events` of the project decides about events outside of the plan.',
    answer: PlannedEvent,
    rows: ({ access }) => listPlannedEvents(access.team_id!),
  });
  createRoute(app);
  addRecord(app, planned_events, {
    retrieve: { summary: 'Retrieve an event of the tracking plan' },
    change: {
      description: holds,
      patch: { summary: 'Change the sent fields of a planned event', body: PlannedEventPatch },
      put: {
        summary: 'Change a planned event; what may be left out keeps its value',
        body: PlannedEventCreate,
      },
      apply: async ({ tx, request, before, schema }) => {
        const planned = { ...before, ...body(request, schema) };
        await storeChecked(tx, request.access.team_id!, planned, before);
      },
    },
    remove: {
      summary: 'Delete an event from the tracking plan',
      description: holds,
      apply: ({ tx, before }) => deletePlannedEvent(tx, before.id),
    },
  });
  importRoute(app);
}

function createRoute(app: FastifyInstance): void {
  addWrite(app, {
    url,
    config: changing,
    summary: 'Add an event to the tracking plan',
    description: holds,
    body: PlannedEventCreate,
    response: { 201: PlannedEvent },
    work: async ({ request, tx, record }) => {
      const team_id = request.access.team_id!;
      const planned = { ...planned_event_defaults, ...body(request, PlannedEventCreate) };
      await beginRuleChange(tx, team_id);
      const id = await storeChecked(tx, team_id, planned);
      const created = await findPlannedEvent(tx, team_id, id);
      record(planned_events.entry('created', undefined, created, [], request));
      return created;
    },
  });
}

/** Throws 400 for a name that the plan has, for a repeated property, or for a full plan. */
async function storeChecked(
  tx: Transaction,
  team_id: number,
  planned: PlannedEventFields,
  before?: PlannedEventRow,
): Promise<string> {
  const names = planned.properties.map(({ name }) => name);
  const twice = names.findIndex((name, at) => names.indexOf(name) < at);
  if (twice !== -1)
    throw invalid(
      `properties__${twice}__name`,
      'unique',
      'The event already has a property with this name.',
    );
  const { count, is_taken } = await lookAtPlan(tx, team_id, planned.event, before?.id ?? null);
  if (is_taken) throw invalid('event', 'unique', 'The plan already has an event with this name.');
  if (before === undefined && count >= planned_events_max)
    throw invalid(null, 'max_items', `A plan has at most ${planned_events_max} events.`);
  return storePlannedEvent(tx, team_id, planned, before?.id);
}
