import type { Static } from 'typebox';
import type { RefusedEvent } from '../../server/api/capture/refused_events/schema.ts';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** A refused event that can be sent again. */
export type Refused = Static<typeof RefusedEvent>;

/** The newest refused events of a project. */
export function refusedEvents(project_id: string) {
  return reading(
    pathTo('/api/projects/:project_id/refused_events/', { project_id }, { limit: 20 }),
  );
}

/** A refused event with its content. */
export function refusedEvent(project_id: string, id: string) {
  return reading(pathTo('/api/projects/:project_id/refused_events/:id/', { project_id, id }));
}
