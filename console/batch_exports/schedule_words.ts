import type { BatchExport } from '../../server/api/batch_exports/schema.ts';
import { rhythmOf, slotAt } from './slots/boundaries.ts';
import type { RhythmFields } from './slots/boundaries.ts';

/** The intervals of an export, in words. */
export const intervals: Record<BatchExport['interval'], string> = {
  'every minute': 'Every minute',
  'every 5 minutes': 'Every 5 minutes',
  'every 15 minutes': 'Every 15 minutes',
  hour: 'Every hour',
  day: 'Every day',
  week: 'Every week',
};

/** The days of the week as the API counts them, from Sunday. */
export const weekdays = [
  'Sunday',
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
] as const;

/**
 * The schedule of an export in words, such as `Daily at 06:00 Europe/Berlin`. The zone of the page
 * is not repeated.
 */
export function scheduleWords(row: RhythmFields, zone: string): string {
  const { interval, timezone, offset_day, offset_hour, offset_minute } = row;
  if (interval !== 'day' && interval !== 'week') return intervals[interval];
  const at = `at ${timeText(offset_hour, offset_minute)}`;
  const when = interval === 'day' ? `Daily ${at}` : `${weekdays[offset_day ?? 1]}s ${at}`;
  return timezone === zone ? when : `${when} ${timezone}`;
}

/** The time of an offset, as `06:00`. */
export function timeText(hour: number | null, minute: number | null): string {
  return [hour, minute].map((part) => String(part ?? 0).padStart(2, '0')).join(':');
}

/** Returns true for a name that the browser knows as a time zone. */
export function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/**
 * The ends of the next intervals from an instant on, until `end`: soon after each its run begins.
 * None where the zone is unknown.
 */
export function nextEnds(row: RhythmFields, from: number, end: number, count: number): number[] {
  if (!isZone(row.timezone)) return [];
  const rhythm = rhythmOf(row);
  const ends: number[] = [];
  for (let { to } = slotAt(rhythm, from); ends.length < count && to <= end;) {
    ends.push(to);
    ({ to } = slotAt(rhythm, to));
  }
  return ends;
}
