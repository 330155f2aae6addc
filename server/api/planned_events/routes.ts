import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import type { Deps } from '../../deps.ts';
import { planned_events_max } from '../../engine/ingest/rules/tracking_plan.ts';
import { invalid } from '../../platform/http/errors.ts';
import { recordRoutes } from '../../platform/http/project_records.ts';
import type { ProjectRecords } from '../../platform/http/project_records.ts';
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

const planned_events: ProjectRecords<PlannedEventRow, PlannedEventFields> = {
  path: '/api/projects/:project_id/planned_events/',
  schemas: { answer: PlannedEvent, create: PlannedEventCreate, patch: PlannedEventPatch },
  words: {
    list: {
      summary: 'List the events of the tracking plan by name',
      description: '`unplanned_events` of the project decides about events outside of the plan.',
    },
    create: { summary: 'Add an event to the tracking plan', description: holds },
    retrieve: { summary: 'Retrieve an event of the tracking plan' },
    patch: { summary: 'Change the sent fields of a planned event', description: holds },
    put: {
      summary: 'Change a planned event; what may be left out keeps its value',
      description: holds,
    },
    delete: { summary: 'Delete an event from the tracking plan', description: holds },
  },
  scope: 'planned_event',
  nameOf: ({ event }) => event,
  list: listPlannedEvents,
  find: findPlannedEvent,
  begin: beginRuleChange,
  complete: async (_, __, sent) => ({
    ...planned_event_defaults,
    ...(sent as Static<typeof PlannedEventCreate>),
  }),
  store: storeChecked,
  remove: deletePlannedEvent,
};

/**
 * Routes of `/api/projects/:project_id/planned_events/`: the tracking plan of a project; list,
 * create, change, delete.
 */
export function plannedEventRoutes(app: FastifyInstance, { db }: Deps): void {
  recordRoutes(app, db, planned_events);
  importRoute(app);
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
