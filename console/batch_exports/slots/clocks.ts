import type { Slots } from '../../../server/api/batch_exports/slots/schema.ts';
import type { Span } from './boundaries.ts';

/** The clocks of slots: when rows were ingested, and when events happened. */
export type Clock = Slots['by'];

/** A time range by one clock: the slot under the pointer, or the selection. */
export type Picked = Span & { by: Clock };

/** Names of the clocks for the map, its table and its selection. */
export const clock_names: Record<Clock, string> = {
  inserted_at: 'Ingested, by the schedule',
  timestamp: 'Happened, by backfills',
};

/** Returns the clock that a text of the address names. */
export function clockOf(text: string | undefined): Clock {
  return text === 'timestamp' ? text : 'inserted_at';
}
