import { v7 as uuidv7 } from 'uuid';
import { storeRefusedEvents } from '../../../server/engine/ingest/warnings/refused_event_store.ts';
import type { RefusedEvent } from '../../../server/engine/ingest/warnings/refused_event.ts';
import { isoInstant } from '../../../server/platform/clock.ts';
import type { Database } from '../../../server/platform/postgres/database.ts';

/** A refused event of the project, as the table stores it. */
export function refusedEvent(team_id: number, given: Partial<RefusedEvent> = {}): RefusedEvent {
  return {
    id: uuidv7(),
    team_id,
    received_at: isoInstant(Date.now()),
    reason: 'event_refused',
    detail: 'It was refused.',
    protocol: 'posthog',
    path: '/batch/',
    content: Buffer.from('{"batch":[]}'),
    event: null,
    distinct_id: null,
    ...given,
  };
}

/** Stores a refused event of the project and returns its id. */
export async function newRefusedEvent(db: Database, team_id: number): Promise<string> {
  const event = refusedEvent(team_id);
  await storeRefusedEvents(db, [event]);
  return event.id;
}
