import { slotLength } from '../slots/boundaries.ts';
import type { Rhythm, Span } from '../slots/boundaries.ts';

const hour_ms = 3_600_000;
const day_ms = 24 * hour_ms;
/** Points in a chart; the API returns up to a thousand, including backfill runs. */
const points_max = 400;

/** Returns the unit of a point that keeps their number small. */
export function pointLength(
  { from, to }: Span,
  rhythm: Pick<Rhythm, 'interval'>,
): 'run' | 'hour' | 'day' {
  const length = to - from;
  if (length / slotLength(rhythm) <= points_max) return 'run';
  return length / hour_ms <= points_max ? 'hour' : 'day';
}

/** Returns the end of the current hour. */
export function endOfHour(now: number): number {
  return Math.ceil(now / hour_ms) * hour_ms;
}

/**
 * Returns the first range: about the last day, week or month; the shortest one with all data. Data
 * from an hour ago still gets a whole day.
 */
export function firstRange(now: number, begun: number): Span {
  const to = endOfHour(now);
  const length = [day_ms, 7 * day_ms].find((length_ms) => to - 1.1 * length_ms <= begun);
  return { from: length === undefined ? to - 30 * day_ms : Math.min(to - length, begun), to };
}
