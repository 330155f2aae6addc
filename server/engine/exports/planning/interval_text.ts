import { fixedLength, intervalCount, intervalStarts } from './interval.ts';
import type { Rhythm } from './interval.ts';

/** Most interval starts in one query; a backfill looks no further ahead. */
export const starts_max = 2_000;

/**
 * Returns ClickHouse text that is equal for all instants `happened` of one interval within [from,
 * to), and differs between intervals. Lists the starts of days and weeks, because the store's zone
 * data may differ from the planner's. Only for more than `starts_max` starts (forecasts of years)
 * does it use the store's zone data: a day with a clock change may then be off by an hour.
 */
export function intervalText(
  rhythm: Rhythm,
  { from, to }: { from: number; to: number },
): { text: string; parameters: Record<string, number | string> } {
  const at = 'toUnixTimestamp64Milli(happened)';
  const length = fixedLength(rhythm.interval);
  if (length !== undefined)
    return { text: `${at} - positiveModulo(${at}, {length:Int64})`, parameters: { length } };
  if (intervalCount(rhythm, from, to) <= starts_max)
    return {
      text: `roundDown(${at}, {starts:Array(Int64)})`,
      parameters: { starts: `[${intervalStarts(rhythm, from, to).join(',')}]` },
    };
  const day =
    'toDate32(toDateTime64(toString(toTimeZone(happened, {timezone:String})), 6, ' +
    "'UTC') - toIntervalMinute({offset_minutes:Int32}))";
  return {
    text: rhythm.interval === 'week' ? `${day} - (toDayOfWeek(${day}) - 1)` : day,
    parameters: { timezone: rhythm.timezone, offset_minutes: rhythm.offset_minutes },
  };
}
