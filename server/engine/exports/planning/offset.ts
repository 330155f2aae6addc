import type { Interval, Rhythm } from './interval.ts';

// The time at which days and weeks turn, as people say it: a day, an hour and a minute. It is
// stored as the minutes after midnight, of weeks after Monday midnight.

const hour_minutes = 60;
const day_minutes = 24 * hour_minutes;
const monday = 1;

/** The parts of an offset that nobody chose: midnight, and Monday. */
export const usual_offset = { offset_day: monday, offset_hour: 0, offset_minute: 0 };
/** The names of the parts. */
export const offset_parts = ['offset_day', 'offset_hour', 'offset_minute'] as const;
/** One of `offset_parts`. */
export type OffsetPart = (typeof offset_parts)[number];
/** The parts of an offset; null where one means nothing. */
export type Offset = Record<OffsetPart, number | null>;

/** Returns true if intervals of this length can turn at a chosen day, hour or minute. */
export function isMeant(part: OffsetPart, interval: Interval): boolean {
  return interval === 'week' || (interval === 'day' && part !== 'offset_day');
}

/** The parts of the offset of a rhythm. */
export function offsetOf({ interval, offset_minutes }: Omit<Rhythm, 'timezone'>): Offset {
  const partOf = (part: OffsetPart, value: number) => (isMeant(part, interval) ? value : null);
  return {
    offset_day: partOf('offset_day', (Math.floor(offset_minutes / day_minutes) + monday) % 7),
    offset_hour: partOf('offset_hour', Math.floor((offset_minutes % day_minutes) / hour_minutes)),
    offset_minute: partOf('offset_minute', offset_minutes % hour_minutes),
  };
}

/** The minutes of an offset; a part that is absent or means nothing is the usual one. */
export function minutesOf(interval: Interval, offset: Partial<Offset>): number {
  const valueOf = (part: OffsetPart) =>
    (isMeant(part, interval) ? offset[part] : null) ?? usual_offset[part];
  const day = (valueOf('offset_day') + 7 - monday) % 7;
  return day * day_minutes + valueOf('offset_hour') * hour_minutes + valueOf('offset_minute');
}
