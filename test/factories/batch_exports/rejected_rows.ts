import { randomBytes } from 'node:crypto';
import type { TestEvent } from './query_exports.ts';

/** The columns of the exports whose rows are refused. */
export const refused_query = 'SELECT uuid, event, distinct_id, timestamp, inserted_at FROM events';

/** The table that such an export would create in PostgreSQL. */
export const refusing_columns =
  'uuid text, event text, distinct_id text, timestamp timestamptz, inserted_at timestamptz';

/** A text that no server compresses, of so many characters. */
export const longText = (characters: number): string =>
  randomBytes(characters).toString('base64').slice(0, characters);

/** Good events of an hour of 1 January 2026, with a few others between them. */
export function eventsWith(hour: number, good: number, others: Partial<TestEvent>[]): TestEvent[] {
  const at = (n: number) =>
    `2026-01-01T0${hour}:${String(10 + (n % 40)).padStart(2, '0')}:00.${String(n).padStart(6, '0')}Z`;
  const all = Array.from({ length: good }, (_, n): Partial<TestEvent> => ({ event: `good ${n}` }));
  all.splice(Math.floor(good / 2), 0, ...others);
  return all.map((one, n) => ({ event: 'event', at: at(n), ...one }));
}
