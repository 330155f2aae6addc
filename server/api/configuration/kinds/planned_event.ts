import { PlannedEventCreate, planned_event_defaults } from '../../planned_events/schema.ts';
import { listPlannedEventsOf } from '../../planned_events/store.ts';
import { pick, plain_kind } from './kind.ts';
import type { Kind } from './kind.ts';

const names = Object.keys(PlannedEventCreate.properties);

/** The tracking plan of a project, event by event. */
export const planned_event: Kind = {
  ...plain_kind,
  name: 'planned_event',
  section: 'planned_events',
  parent: 'project',
  right: 'project',
  identity: 'event',
  listUrl: ({ parent_id }) => `/api/projects/${parent_id}/planned_events/`,
  schema: PlannedEventCreate,
  defaults: planned_event_defaults,
  read: async ({ db, organization_id }) =>
    (await listPlannedEventsOf(db, organization_id)).map((planned) => ({
      id: planned.id,
      parent_id: String(planned.team_id),
      name: planned.event,
      fields: pick(planned, names),
      secrets: {},
    })),
};
