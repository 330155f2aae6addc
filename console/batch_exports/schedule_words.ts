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

/** The days of the week, numbered like the API from Sunday. */
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
 * Returns the schedule of an export in words, such as `Daily at 06:00 Europe/Berlin`. It omits the
 * time zone of the page.
 */
export function scheduleWords(row: RhythmFields, zone: string): string {
  const { interval, timezone, offset_day, offset_hour, offset_minute } = row;
  if (interval !== 'day' && interval !== 'week') return intervals[interval];
  const at = `at ${timeText(offset_hour, offset_minute)}`;
  const when = interval === 'day' ? `Daily ${at}` : `${weekdays[offset_day ?? 1]}s ${at}`;
  return timezone === zone ? when : `${when} ${timezone}`;
}

/** Returns the time of an offset, such as `06:00`. */
export function timeText(hour: number | null, minute: number | null): string {
  return [hour, minute].map((part) => String(part ?? 0).padStart(2, '0')).join(':');
}

/** Returns true if the browser knows the name of a time zone. */
export function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/**
 * Returns the ends of the next intervals from an instant until `end`; a run starts soon after each.
 * Empty for an unknown time zone.
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
