import { fixedLength, intervalCount, intervalStarts } from './interval.ts';
import type { Rhythm } from './interval.ts';

/** As many starts go into one question; a backfill looks at no more intervals ahead. */
export const starts_max = 2_000;

/**
 * Returns ClickHouse text that is equal for what `happened` in one interval of the rhythm within
 * [from, to), and differs between two. Days and weeks are told by their starts, because the store
 * may know other changes of the clocks than the planner. Only where these are more than
 * `starts_max` (forecasts of years) are they told by the store's clocks: there a day on which the
 * clocks change can be off by an hour.
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
