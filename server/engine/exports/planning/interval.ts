import { Temporal } from 'temporal-polyfill';

/**
 * The rhythms an export may have, in the contract's spelling. One of a fixed length is told here
 * alone; one of the calendar also in `backfill_counts.ts` and in `health/store.ts`.
 */
export const intervals = ['every 5 minutes', 'every 15 minutes', 'hour', 'day', 'week'] as const;

/** One of `intervals`. */
export type Interval = (typeof intervals)[number];
/** The longest interval that a run has in days, with one for the change of the clocks. */
export const run_days_max = 8;

const minute_ms = 60_000;
const day_ms = 24 * 60 * minute_ms;
/** Days that are counted at once; a zone that skipped one and repeated another took years. */
const block_days = 366;
const fixed_ms: Partial<Record<Interval, number>> = {
  'every 5 minutes': 5 * minute_ms,
  'every 15 minutes': 15 * minute_ms,
  hour: 60 * minute_ms,
};

/**
 * The latest boundary at or before an instant (milliseconds). Minutes and hours turn on the UTC
 * clock; days turn at midnight and weeks on Monday midnight of the time zone, so a day may have 23
 * or 25 hours.
 */
export function boundaryAtOrBefore(interval: Interval, timezone: string, instant: number): number {
  const length = fixed_ms[interval];
  if (length !== undefined) return Math.floor(instant / length) * length;
  const day = dayOf(instant, timezone);
  return startOf(interval === 'week' ? mondayOf(day) : day, timezone);
}

/** The earliest boundary after an instant (milliseconds). */
export function boundaryAfter(interval: Interval, timezone: string, instant: number): number {
  const length = fixed_ms[interval];
  const start = boundaryAtOrBefore(interval, timezone, instant);
  if (length !== undefined) return start + length;
  const day = dayOf(start, timezone);
  return startOf(day.add({ days: interval === 'week' ? 7 : 1 }), timezone);
}

/**
 * Counts the data intervals that a range touches when it is cut at the boundaries; 0 for an empty
 * range.
 */
export function intervalCount(
  interval: Interval,
  timezone: string,
  from: number,
  to: number,
): number {
  if (from >= to) return 0;
  const length = fixed_ms[interval];
  if (length !== undefined) return Math.ceil(to / length) - Math.floor(from / length);
  const [first, last] = [dayOf(from, timezone), dayOf(to - 1, timezone)];
  if (interval === 'week') return 1 + mondayOf(first).until(mondayOf(last)).days / 7;
  const days = first.until(last).days;
  let skipped = 0;
  // Whoever walked every day of a millennium would keep all others waiting for a minute.
  for (let start = 0; start < days; start += block_days)
    skipped += skippedDays(
      first.add({ days: start }),
      Math.min(block_days, days - start),
      timezone,
    );
  return 1 + days - skipped;
}

/** The number of days that the zone skipped, as Samoa did when it moved over the date line. */
function skippedDays(first: Temporal.PlainDate, days: number, timezone: string): number {
  const starts = (day: number) => startOf(first.add({ days: day }), timezone);
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

function dayOf(instant: number, timezone: string): Temporal.PlainDate {
  return Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timezone).toPlainDate();
}

function mondayOf(day: Temporal.PlainDate): Temporal.PlainDate {
  return day.subtract({ days: day.dayOfWeek - 1 });
}

function startOf(day: Temporal.PlainDate, timezone: string): number {
  return day.toZonedDateTime(timezone).epochMilliseconds;
}
