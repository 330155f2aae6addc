import { Temporal } from 'temporal-polyfill';

/**
 * The rhythms an export may have, in the contract's spelling. One of a fixed length is told here
 * alone; one of the calendar also in `interval_text.ts` and in `health/store.ts`.
 */
export const intervals = [
  'every minute',
  'every 5 minutes',
  'every 15 minutes',
  'hour',
  'day',
  'week',
] as const;

/** One of `intervals`. */
export type Interval = (typeof intervals)[number];
/** The longest interval that a run has in days, with one for the change of the clocks. */
export const run_days_max = 8;

const minute_ms = 60_000;
const day_minutes = 24 * 60;
const day_ms = day_minutes * minute_ms;
/** Days that are counted at once; a zone that skipped one and repeated another took years. */
const block_days = 366;
const fixed_ms: Partial<Record<Interval, number>> = {
  'every minute': minute_ms,
  'every 5 minutes': 5 * minute_ms,
  'every 15 minutes': 15 * minute_ms,
  hour: 60 * minute_ms,
};

/**
 * The rhythm of an export. Days turn `offset_minutes` after midnight on the clocks of the zone,
 * weeks that long after Monday midnight.
 */
export type Rhythm = { interval: Interval; timezone: string; offset_minutes: number };

/** Compares what the boundaries follow from. */
export function isSameRhythm(one: Rhythm, other: Rhythm): boolean {
  return (
    one.interval === other.interval &&
    one.timezone === other.timezone &&
    one.offset_minutes === other.offset_minutes
  );
}

/**
 * Returns the latest boundary at or before an instant (milliseconds). Minutes and hours turn on the
 * UTC clock, days and weeks on the clocks of the zone, so a day may have 23 or 25 hours.
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
    // Two dates have one boundary where a zone skipped a day.
    if (start !== starts.at(-1)) starts.push(start);
  }
}

/**
 * Counts the data intervals that a range touches when it is cut at the boundaries; 0 for an empty
 * range.
 */
export function intervalCount(rhythm: Rhythm, from: number, to: number): number {
  if (from >= to) return 0;
  const length = fixed_ms[rhythm.interval];
  if (length !== undefined) return Math.ceil(to / length) - Math.floor(from / length);
  const [first, last] = [dateOf(rhythm, from), dateOf(rhythm, to - 1)];
  const days = first.until(last).days;
  if (rhythm.interval === 'week') return 1 + days / 7;
  let skipped = 0;
  // Whoever walked every day of a millennium would keep all others waiting for a minute.
  for (let start = 0; start < days; start += block_days)
    skipped += skippedDays(rhythm, first.add({ days: start }), Math.min(block_days, days - start));
  return 1 + days - skipped;
}

/** The number of days that the zone skipped, as Samoa did when it moved over the date line. */
function skippedDays(rhythm: Rhythm, first: Temporal.PlainDate, days: number): number {
  const starts = (day: number) => boundaryOf(rhythm, first.add({ days: day }));
  if (starts(days) - starts(0) > (days - 0.5) * day_ms) return 0;
  let skipped = 0;
  for (let day = 0; day < days; day += 1) if (starts(day) === starts(day + 1)) skipped += 1;
  return skipped;
}

/**
 * The one length in milliseconds that every interval of this rhythm has, counted from the epoch;
 * undefined for days and weeks.
 */
export function fixedLength(interval: Interval): number | undefined {
  return fixed_ms[interval];
}

/**
 * Nominal length in milliseconds, for limits and charts; a real day or week may differ by an hour.
 */
export function nominalLength(interval: Interval): number {
  return fixed_ms[interval] ?? (interval === 'day' ? 1 : 7) * day_ms;
}

/** Length of an interval of the calendar in days. */
function daysOf({ interval }: Rhythm): 1 | 7 {
  return interval === 'week' ? 7 : 1;
}

/**
 * The date (of weeks: the Monday) with whose boundary the interval of an instant begins. The local
 * date is at most an interval away from it, more only where a zone skipped a day: there two dates
 * have one boundary, and the later one counts.
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
 * The one way from a local date to an instant: the time of the offset on that date. A time that the
 * clocks skip is as much later as they skip; of one that they show twice the first is taken.
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
