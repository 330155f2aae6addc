import type { Static } from 'typebox';
import type {
  RefusedEvent,
  RefusedEventContent,
} from '../../server/api/capture/refused_events/schema.ts';
import type { Listed } from '../http/list.ts';
import { reading } from '../http/reading.ts';

/** An event that was refused and can be sent again. */
export type Refused = Static<typeof RefusedEvent>;

/** Where the refused events of a project are. */
export function refusedEventsPath(project_id: string): string {
  return `/api/projects/${encodeURIComponent(project_id)}/refused_events/`;
}

/** The newest refused events of a project. */
export function refusedEvents(project_id: string) {
  return reading<Listed<Refused>>(`${refusedEventsPath(project_id)}?limit=20`);
}

/** One with its content. */
export function refusedEvent(project_id: string, id: string) {
  return reading<Static<typeof RefusedEventContent>>(`${refusedEventsPath(project_id)}${id}/`);
}
