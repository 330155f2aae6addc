import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';
import { instantOf, wallClock } from '../../time/zone.ts';

/** The fields of an export that say when it runs. */
export type RhythmFields = Pick<
  BatchExport,
  'interval' | 'timezone' | 'offset_day' | 'offset_hour' | 'offset_minute'
>;

/**
 * The rhythm of an export: days start so many minutes after midnight, weeks after Monday midnight,
 * in the time zone.
 */
export type Rhythm = {
  interval: BatchExport['interval'];
  timezone: string;
  offset_minutes: number;
};

/** Returns the rhythm of an export from the API's fields. */
export function rhythmOf(row: RhythmFields): Rhythm {
  const { interval, timezone, offset_day, offset_hour, offset_minute } = row;
  // Weeks start on Monday, 1.
  const days = offset_day === null ? 0 : (offset_day + 6) % 7;
  const offset_minutes = days * 1_440 + (offset_hour ?? 0) * 60 + (offset_minute ?? 0);
  return { interval, timezone, offset_minutes };
}

/** A part of time, half open, in milliseconds. */
export type Span = { from: number; to: number };

const minute_ms = 60_000;
const day_ms = 24 * 60 * minute_ms;
/** 1 January 1970 was a Thursday. */
const first_monday = 4 * day_ms;

const lengths: Record<BatchExport['interval'], number> = {
  'every minute': minute_ms,
  'every 5 minutes': 5 * minute_ms,
  'every 15 minutes': 15 * minute_ms,
  hour: 60 * minute_ms,
  day: day_ms,
  week: 7 * day_ms,
};

/**
 * Returns the usual length of a slot; days and weeks are an hour longer or shorter twice a year.
 */
export function slotLength({ interval }: Pick<Rhythm, 'interval'>): number {
  return lengths[interval];
}

/** Returns the slot that contains the instant, with the server's boundaries. */
export function slotAt(rhythm: Rhythm, at: number): Span {
  const { interval, timezone } = rhythm;
  const length = slotLength(rhythm);
  if (length < day_ms) {
    const from = Math.floor(at / length) * length;
    return { from, to: from + length };
  }
  const first = rhythm.offset_minutes * minute_ms + (interval === 'week' ? first_monday : 0);
  let wall = Math.floor((wallClock(at, timezone) - first) / length) * length + first;
  // When the clocks change, the local time alone does not identify the slot.
  while (instantOf(wall, timezone) > at) wall -= length;
  while (instantOf(wall + length, timezone) <= at) wall += length;
  return { from: instantOf(wall, timezone), to: instantOf(wall + length, timezone) };
}

/** Returns the slots that a time range touches, as one span. */
export function slotsTouched(rhythm: Rhythm, { from, to }: Span): Span {
  return { from: slotAt(rhythm, from).from, to: slotAt(rhythm, to - 1).to };
}
