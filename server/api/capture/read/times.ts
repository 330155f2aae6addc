import { isNumberText } from '../../../engine/ingest/parse/exact_json.ts';
import { isDay, parseInstant } from '../../../engine/ingest/parse/instant.ts';

/** A smaller difference comes from the network and retries, not from a wrong clock. */
const skew_ms_min = 30_000;
/** A time further in the future becomes now; a smaller difference can be a wrong time zone. */
export const future_ms_max = 23 * 3_600_000;

/**
 * From here on, numbers of epoch time are milliseconds: as seconds they would be after the year
 * 5000.
 */
export const milliseconds_min = 100_000_000_000;
/** No time is longer. The search for a zone takes time quadratic in the length. */
const text_length_max = 200;
const iso_day = /^(\d{4})-(\d\d)-(\d\d)(?!\d)/;
const without_zone = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?$/;
// Removes a comment from formats of JavaScript, mail and old libraries:
// `Wed May 01 2024 10:00:00 GMT+0200 (CEST)`, `Wed, 01 May 2024 10:00:00 GMT`,
// `2024/05/01 10:00:00`.
const comment = /\s*\([^()]*\)\s*$/;
const year = /\d{4}/;
const minus = /^\s*-/;
const strange_word = new RegExp(
  '(?<![a-z])(?!(?:sun|mon|tue|wed|thu|fri|sat|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|' +
    '(?:t|z|ut|utc|gmt|am|pm|[ecmp][sd]t)(?![a-z]))[a-z]',
  'i',
);
const zone = /(?:z|utc?|gmt|[ecmp][sd]t|(?:\d:\d\d(?:[.,]\d+)?|gmt|utc|\s)\s*[+-]\d\d:?\d\d)$/i;

/**
 * Returns the milliseconds since the epoch for a text or number, in any format that SDKs use;
 * undefined for anything else. A text without a zone is UTC.
 */
export function readTime(value: unknown): number | undefined {
  const number = readNumber(value);
  const text = number === undefined ? value : String(number);
  if (typeof text !== 'string' || text === '' || text.length > text_length_max) return undefined;
  if (/^\d{1,16}(\.\d+)?$/.test(text)) {
    const epoch = Number(text);
    return epoch >= milliseconds_min ? epoch : epoch * 1000;
  }
  const known = exactInstant(text);
  if (known !== undefined) return Date.parse(`${known.replace(' ', 'T')}Z`);
  return number === undefined ? readSpelled(text) : undefined;
}

/**
 * Returns the number of a JSON value, also if it is kept as text (`1.0`); undefined for other
 * values.
 */
export function readNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'object' || !isNumberText(value)) return undefined;
  return Number(JSON.stringify(value));
}

/** Returns an instant of ISO 8601 with its microseconds, in UTC if it has no zone. */
export function exactInstant(text: string): string | undefined {
  return parseInstant(without_zone.test(text) ? `${text}Z` : text);
}

/**
 * Reads a time in another format than ISO's instants. It must have a year and only words of dates:
 * JavaScript's parser reads `order 5` as a day in May 2001. Without a zone, that parser would use
 * the zone of this machine.
 */
function readSpelled(given: string): number | undefined {
  const text = given.replace(comment, '').trim();
  if (!year.test(text) || minus.test(text) || strange_word.test(text)) return undefined;
  const day = iso_day.exec(text)?.slice(1).map(Number);
  if (day !== undefined && !isDay(day[0]!, day[1]!, day[2]!)) return undefined;
  const spelled = [text, `${text}Z`, `${text} UTC`].slice(zone.test(text) ? 0 : 1);
  return spelled.map((one) => Date.parse(one)).find((one) => !Number.isNaN(one));
}

/**
 * Returns the correction for the times of a sender whose clock said `sent_at` when the request was
 * sent; 0 if that is unknown or nearly right.
 */
export function skewOf(received_ms: number, sent_at: unknown): number {
  const sent_ms = readTime(sent_at);
  if (sent_ms === undefined) return 0;
  const skew_ms = received_ms - sent_ms;
  return Math.abs(skew_ms) < skew_ms_min ? 0 : skew_ms;
}
