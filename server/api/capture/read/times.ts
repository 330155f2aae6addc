import { parseInstant } from '../../../engine/ingest/parse/instant.ts';

/** Differences below this are the way of the request and its repeats, not a wrong clock. */
const skew_ms_min = 30_000;
/**
 * What lies further in the future is put to now: a clock can be a time zone wrong, and not more.
 */
export const future_ms_max = 23 * 3_600_000;

// Numbers of epoch time from here on are milliseconds: as seconds they would lie beyond the year
// 5000.
const milliseconds_min = 100_000_000_000;
const without_zone = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$/;

/**
 * The milliseconds since the epoch that a text or number names, in any spelling that SDKs use;
 * undefined for anything else. A text without a zone is UTC.
 */
export function readTime(value: unknown): number | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || text === '') return undefined;
  if (/^\d{1,16}(\.\d+)?$/.test(text)) {
    const number = Number(text);
    return number >= milliseconds_min ? number : number * 1000;
  }
  const known = parseInstant(text);
  if (known !== undefined) return Date.parse(`${known.replace(' ', 'T')}Z`);
  const parsed = Date.parse(without_zone.test(text) ? `${text}Z` : text);
  return Number.isNaN(parsed) ? undefined : parsed;
}

/**
 * What is to be added to the times of a sender whose clock said `sent_at` when the request was
 * sent; 0 when it is not known or close to right.
 */
export function skewOf(received_ms: number, sent_at: unknown): number {
  const sent_ms = readTime(sent_at);
  if (sent_ms === undefined) return 0;
  const skew_ms = received_ms - sent_ms;
  return Math.abs(skew_ms) < skew_ms_min ? 0 : skew_ms;
}
