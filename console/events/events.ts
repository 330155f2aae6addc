import type { Static } from 'typebox';
import type { NewestEvents } from '../../server/api/events/schema.ts';
import { reading } from '../http/reading.ts';

/** The events of a project that were stored last. */
export type Newest = Static<typeof NewestEvents>;

/** The events of a project that were stored last; looked for often until the first is there. */
export function newestEvents(project_id: string) {
  return reading<Newest>(`/api/projects/${encodeURIComponent(project_id)}/events/`, {
    is_busy: ({ results }) => results.length === 0,
  });
}
