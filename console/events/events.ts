import type { Static } from 'typebox';
import type { NewestEvents } from '../../server/api/events/schema.ts';
import { reading } from '../http/reading.ts';
import { now } from '../time/now.ts';
import { pathTo } from '../http/path.ts';

/** The newest stored events of a project. */
export type Newest = Static<typeof NewestEvents>;

/** A person who has just sent an event wants to see it. */
const lively_ms = 10 * 60_000;

/**
 * The newest stored events of a project; read often until the first one exists, and while events
 * arrive.
 */
export function newestEvents(project_id: string) {
  return reading(pathTo('/api/projects/:project_id/events/', { project_id }), {
    is_busy: isLively,
  });
}

/** The filter of a live list of events; empty fields do not filter. */
export type LiveSearch = Partial<Record<'event' | 'distinct_id' | 'property' | 'value', string>>;

/** Events in a live list. */
const live_events = 50;

/** The newest matching events, read again every two seconds while the page is visible. */
export function liveEvents(project_id: string, search: LiveSearch) {
  const { property, value, ...others } = search;
  const by_property =
    property === undefined ? {} : value === undefined ? { property } : { property, value };
  return reading(
    pathTo(
      '/api/projects/:project_id/events/',
      { project_id },
      { ...others, ...by_property, limit: live_events },
    ),
    { is_busy: () => true },
  );
}

/** Returns true if events have just arrived, or none ever did. */
export function isLively({ results: [newest] }: Newest): boolean {
  return newest === undefined || now() - Date.parse(newest.inserted_at) < lively_ms;
}

/** Newest events that are searched for examples. */
const examples_max = 100;

/** The newest events of a project, to choose an example from. */
export function exampleEvents(project_id: string) {
  const path = pathTo('/api/projects/:project_id/events/', { project_id }, { limit: examples_max });
  return reading(path, { is_busy: isLively });
}
