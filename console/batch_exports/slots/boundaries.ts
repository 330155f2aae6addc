import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';
import { instantOf, wallClock } from '../../time/zone.ts';

/** The rhythm of an export, and the zone in which its days and weeks turn. */
export type Rhythm = { interval: BatchExport['interval']; timezone: string };

/** A part of time, half open, in milliseconds. */
export type Span = { from: number; to: number };

const minute_ms = 60_000;
const day_ms = 24 * 60 * minute_ms;
/** 1 January 1970 was a Thursday. */
const first_monday = 4 * day_ms;

const lengths: Record<BatchExport['interval'], number> = {
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

/** The slot that has the instant, by the same boundaries as the server's. */
export function slotAt(rhythm: Rhythm, at: number): Span {
  const { interval, timezone } = rhythm;
  const length = slotLength(rhythm);
  if (length < day_ms) {
    const from = Math.floor(at / length) * length;
    return { from, to: from + length };
  }
  const offset = interval === 'week' ? first_monday : 0;
  const wall = Math.floor((wallClock(at, timezone) - offset) / length) * length + offset;
  return { from: instantOf(wall, timezone), to: instantOf(wall + length, timezone) };
}

/** The slots that a part of time touches, as one span. */
export function slotsTouched(rhythm: Rhythm, { from, to }: Span): Span {
  return { from: slotAt(rhythm, from).from, to: slotAt(rhythm, to - 1).to };
}
