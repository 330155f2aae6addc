import { Temporal } from 'temporal-polyfill';

/**
 * The intervals that an export may have, as the contract spells them. A fixed length is only
 * defined here; a calendar interval also in `interval_text.ts` and `health/store.ts`.
 */
export const intervals = [
  'every minute',
  'every 5 minutes',
  'every 15 minutes',
  'hour',
  'day',
  'week',
] as const;

export type Interval = (typeof intervals)[number];
/** The longest interval of a run in days, plus one for daylight saving changes. */
export const run_days_max = 8;

const minute_ms = 60_000;
const day_minutes = 24 * 60;
const day_ms = day_minutes * minute_ms;
/**
 * Days counted at once. For a zone that skipped one day and repeated another, years go by between
 * both.
 */
const block_days = 366;
const fixed_ms: Partial<Record<Interval, number>> = {
  'every minute': minute_ms,
  'every 5 minutes': 5 * minute_ms,
  'every 15 minutes': 15 * minute_ms,
  hour: 60 * minute_ms,
};

/**
 * The rhythm of an export. Days begin `offset_minutes` after midnight in the zone's local time,
 * weeks that long after Monday midnight.
 */
export type Rhythm = { interval: Interval; timezone: string; offset_minutes: number };

/** Returns true if both rhythms have the same boundaries. */
export function isSameRhythm(one: Rhythm, other: Rhythm): boolean {
  return (
    one.interval === other.interval &&
    one.timezone === other.timezone &&
    one.offset_minutes === other.offset_minutes
  );
}

/**
 * Returns the latest boundary at or before an instant (milliseconds). Minutes and hours follow UTC;
 * days and weeks follow the zone's local time, so a day may have 23 or 25 hours.
 */
export function boundaryAtOrBefore(rhythm: Rhythm, instant: number): number {
  const length = fixed_ms[rhythm.interval];
  if (length !== undefined) return Math.floor(instant / length) * length;
  return boundaryOf(rhythm, dateOf(rhythm, instant));
}

/** Returns the earliest boundary after an instant (milliseconds). */
export function boundaryAfter(rhythm: Rhythm, instant: number): number {
  const length = fixed_ms[rhythm.interval];
  if (length !== undefined) return boundaryAtOrBefore(rhythm, instant) + length;
  return boundaryOf(rhythm, dateOf(rhythm, instant).add({ days: daysOf(rhythm) }));
}

/** Lists the starts of the data intervals that a range touches; the first may lie before it. */
export function intervalStarts(rhythm: Rhythm, from: number, to: number): number[] {
  const days = daysOf(rhythm);
  const starts: number[] = [];
  for (let date = dateOf(rhythm, from); ; date = date.add({ days })) {
    const start = boundaryOf(rhythm, date);
    if (start >= to) return starts;
    // Two dates share one boundary if a zone skipped a day.
    if (start !== starts.at(-1)) starts.push(start);
  }
}

/** Counts the data intervals of a range, cut at the boundaries; 0 for an empty range. */
export function intervalCount(rhythm: Rhythm, from: number, to: number): number {
  if (from >= to) return 0;
  const length = fixed_ms[rhythm.interval];
  if (length !== undefined) return Math.ceil(to / length) - Math.floor(from / length);
  const [first, last] = [dateOf(rhythm, from), dateOf(rhythm, to - 1)];
  const days = first.until(last).days;
  if (rhythm.interval === 'week') return 1 + days / 7;
  let skipped = 0;
  // Counting each day of a millennium would block the event loop for a minute.
  for (let start = 0; start < days; start += block_days)
    skipped += skippedDays(rhythm, first.add({ days: start }), Math.min(block_days, days - start));
  return 1 + days - skipped;
}

/** Returns the number of days that the zone skipped, as Samoa did when it crossed the date line. */
function skippedDays(rhythm: Rhythm, first: Temporal.PlainDate, days: number): number {
  const starts = (day: number) => boundaryOf(rhythm, first.add({ days: day }));
  if (starts(days) - starts(0) > (days - 0.5) * day_ms) return 0;
  let skipped = 0;
  for (let day = 0; day < days; day += 1) if (starts(day) === starts(day + 1)) skipped += 1;
  return skipped;
}

/**
 * Returns the fixed length in milliseconds of every interval, counted from the epoch; undefined for
 * days and weeks.
 */
export function fixedLength(interval: Interval): number | undefined {
  return fixed_ms[interval];
}

/**
 * Returns the nominal length in milliseconds, for limits and charts; a real day or week may differ
 * by an hour.
 */
export function nominalLength(interval: Interval): number {
  return fixed_ms[interval] ?? (interval === 'day' ? 1 : 7) * day_ms;
}

/** Returns the length of a calendar interval in days. */
function daysOf({ interval }: Rhythm): 1 | 7 {
  return interval === 'week' ? 7 : 1;
}

/**
 * Returns the date (for weeks: the Monday) whose boundary begins the interval of an instant. The
 * local date is at most one interval off, or more if a zone skipped a day. Two dates share one
 * boundary there, and the later one counts.
 */
function dateOf(rhythm: Rhythm, instant: number): Temporal.PlainDate {
  const days = daysOf(rhythm);
  const { timezone } = rhythm;
  const at = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timezone);
  let date = at.toPlainDate();
  if (days === 7) date = date.subtract({ days: date.dayOfWeek - 1 });
  while (boundaryOf(rhythm, date) > instant) date = date.subtract({ days });
  for (;;) {
    const next = date.add({ days });
    if (boundaryOf(rhythm, next) > instant) return date;
    date = next;
  }
}

/**
 * Converts a local date to its boundary: the offset's local time on that date. A skipped local time
 * moves later by the skipped span; a repeated one means its first occurrence.
 */
function boundaryOf({ timezone, offset_minutes }: Rhythm, date: Temporal.PlainDate): number {
  const time = Temporal.PlainTime.from({
    hour: Math.floor(offset_minutes / 60) % 24,
    minute: offset_minutes % 60,
  });
  return date
    .add({ days: Math.floor(offset_minutes / day_minutes) })
    .toZonedDateTime({ timeZone: timezone, plainTime: time }).epochMilliseconds;
}
