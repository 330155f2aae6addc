import type { Interval, Rhythm } from './interval.ts';

// The start of days and weeks in people's terms: a day, an hour and a minute. It is stored as
// minutes after midnight, for weeks after Monday midnight.

const hour_minutes = 60;
const day_minutes = 24 * hour_minutes;
const monday = 1;

/** The default parts of an offset: midnight, and Monday. */
export const usual_offset = { offset_day: monday, offset_hour: 0, offset_minute: 0 };
/** The names of the parts. */
export const offset_parts = ['offset_day', 'offset_hour', 'offset_minute'] as const;
export type OffsetPart = (typeof offset_parts)[number];
/** The parts of an offset; null if one does not apply. */
export type Offset = Record<OffsetPart, number | null>;

/** Returns true if intervals of this length can begin at a chosen day, hour or minute. */
export function isMeant(part: OffsetPart, interval: Interval): boolean {
  return interval === 'week' || (interval === 'day' && part !== 'offset_day');
}

/** Returns the parts of a rhythm's offset. */
export function offsetOf({ interval, offset_minutes }: Omit<Rhythm, 'timezone'>): Offset {
  const partOf = (part: OffsetPart, value: number) => (isMeant(part, interval) ? value : null);
  return {
    offset_day: partOf('offset_day', (Math.floor(offset_minutes / day_minutes) + monday) % 7),
    offset_hour: partOf('offset_hour', Math.floor((offset_minutes % day_minutes) / hour_minutes)),
    offset_minute: partOf('offset_minute', offset_minutes % hour_minutes),
  };
}

/** Returns the minutes of an offset; an absent or inapplicable part has its default. */
export function minutesOf(interval: Interval, offset: Partial<Offset>): number {
  const valueOf = (part: OffsetPart) =>
    (isMeant(part, interval) ? offset[part] : null) ?? usual_offset[part];
  const day = (valueOf('offset_day') + 7 - monday) % 7;
  return day * day_minutes + valueOf('offset_hour') * hour_minutes + valueOf('offset_minute');
}
