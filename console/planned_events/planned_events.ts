import { pathTo } from '../http/path.ts';
import { reading } from '../http/reading.ts';

/** The treatments of an event that differs from the plan. */
export const mode_options = [
  { value: 'warn', label: 'Store it with a warning' },
  { value: 'refuse', label: 'Refuse it' },
];

/** Returns the path of the tracking plan's events. */
export function plannedEventsPath(project_id: string, query?: { limit: number }) {
  return pathTo('/api/projects/:project_id/planned_events/', { project_id }, query);
}

/** Returns the path of a planned event. */
export function plannedEventPath(project_id: string, id: string) {
  return pathTo('/api/projects/:project_id/planned_events/:id/', { project_id, id });
}

/** All events of the plan by name: at most a thousand. */
export function plannedEvents(project_id: string) {
  return reading(plannedEventsPath(project_id, { limit: 1000 }));
}

/** One planned event. */
export function plannedEvent(project_id: string, id: string) {
  return reading(plannedEventPath(project_id, id));
}
