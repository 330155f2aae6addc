import type { Static } from 'typebox';
import type { NewestEvents } from '../../server/api/events/schema.ts';
import { reading } from '../http/reading.ts';
import { now } from '../time/now.ts';
import { pathTo } from '../http/path.ts';

/** The events of a project that were stored last. */
export type Newest = Static<typeof NewestEvents>;

/** Whoever has just sent something wants to see it. */
const lively_ms = 10 * 60_000;

/**
 * The events of a project that were stored last; looked for often until the first is there, and
 * while some have just come.
 */
export function newestEvents(project_id: string) {
  return reading(pathTo('/api/projects/:project_id/events/', { project_id }), {
    is_busy: isLively,
  });
}

/** The filter of a live list of events; empty fields are not asked for. */
export type LiveSearch = Partial<Record<'event' | 'distinct_id' | 'property' | 'value', string>>;

/** Number of events in a live list. */
const live_events = 50;

/** The last events that fit, read again every two seconds while somebody looks. */
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

/** Has something just come, or nothing ever? */
export function isLively({ results: [newest] }: Newest): boolean {
  return newest === undefined || now() - Date.parse(newest.inserted_at) < lively_ms;
}

/** The number of newest events among which examples are looked for. */
const examples_max = 100;

/** The newest events of a project, to choose an example from. */
export function exampleEvents(project_id: string) {
  const path = pathTo('/api/projects/:project_id/events/', { project_id }, { limit: examples_max });
  return reading(path, { is_busy: isLively });
}
