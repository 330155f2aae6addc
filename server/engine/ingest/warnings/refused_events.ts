import { v7 as uuidv7 } from 'uuid';
import type { Clock } from '../../../platform/clock.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { Logger } from '../../../platform/log.ts';
import { openDelayed } from '../../../platform/pacing/delayed.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import { storeRefusedEvents } from './refused_event_store.ts';
import type { RefusedEvent } from './refused_event.ts';

/** One process's writer of the table. */
export type RefusedEvents = {
  /** Keeps a refused event: cheap, never throws; it is stored within about a second. */
  keep(refused: Omit<RefusedEvent, 'id' | 'received_at'>): void;
  /** Stores the events so far. Never throws: events that cannot be stored are lost, and logged. */
  store(): Promise<void>;
};

/** Larger ones are not stored. */
export const refused_content_bytes_max = 4 * 1024 * 1024;
/** Bytes that wait to be stored, and the number of events. */
const waiting_bytes_max = 32 * 1024 * 1024;
const waiting_max = 10_000;

type Parts = { db: Database; clock: Clock; log: Logger; config: { refused_events_days: number } };
const opened = new WeakMap<Database, RefusedEvents>();

/**
 * The refused events of one process: held in memory, and stored once a second in one statement. A
 * kill loses those of the last second. With a setting of 0 days, it stores nothing.
 */
export function sharedRefusedEvents(parts: Parts): RefusedEvents {
  const known = opened.get(parts.db);
  if (known !== undefined) return known;
  const refused = openRefusedEvents(parts);
  opened.set(parts.db, refused);
  return refused;
}

function openRefusedEvents({ db, clock, log, config }: Parts): RefusedEvents {
  let waiting: RefusedEvent[] = [];
  let waiting_bytes = 0;
  const delayed = openDelayed(async () => {
    const events = waiting;
    waiting = [];
    waiting_bytes = 0;
    try {
      if (events.length > 0) await storeRefusedEvents(db, events);
    } catch (error) {
      log.warn({ err: error, events: events.length }, 'refused events could not be stored');
    }
  });
  return {
    keep: (refused) => {
      const bytes = refused.content.length;
      if (config.refused_events_days === 0 || bytes > refused_content_bytes_max) return;
      if (waiting.length >= waiting_max || waiting_bytes + bytes > waiting_bytes_max) return;
      waiting_bytes += bytes;
      waiting.push({ ...refused, id: uuidv7(), received_at: isoInstant(clock.now()) });
      delayed.plan();
    },
    store: delayed.store,
  };
}
