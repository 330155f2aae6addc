import { isShownTwice, wallClock } from './zone.ts';

const units = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'short' });

/** Returns the distance of the instant from now, such as `12 min. ago`; `now` within a minute. */
export function distance(at: string, now_ms: number): string {
  const seconds = (Date.parse(at) - now_ms) / 1000;
  for (const [unit, length] of units)
    if (Math.abs(seconds) >= length) return relative.format(Math.trunc(seconds / length), unit);
  return 'now';
}

/** Returns when something is due: its distance, or `within a minute` if it is overdue. */
export function dueIn(at: string, now_ms: number): string {
  return Date.parse(at) - now_ms < 60_000 ? 'within a minute' : distance(at, now_ms);
}

/** Returns the instant in the time zone with its name, and in UTC if that differs. */
export function exactly(at: string, zone: string): string {
  const own = `${written(at, zone)} ${zone}`;
  return zone === 'UTC' ? own : `${own}, ${written(at, 'UTC')} UTC`;
}

/** Returns the instant in the time zone as `2026-01-31 12:00`. */
export function written(at: string, zone: string): string {
  const wall = new Date(wallClock(Date.parse(at), zone)).toISOString();
  return `${wall.slice(0, 10)} ${wall.slice(11, 16)}`;
}

/**
 * Returns the instant in the page's time zone: `2026-01-31 12:00`. In an hour that the clocks show
 * twice, UTC follows, to distinguish the two.
 */
export function dated(at: string, zone: string): string {
  const own = written(at, zone);
  return isShownTwice(Date.parse(at), zone) ? `${own} (${written(at, 'UTC').slice(11)} UTC)` : own;
}

/** Returns a recent instant: for today only the time, as `22:20` or `22:20:05`. */
export function sinceWhen(at: string, zone: string, now_ms: number, is_precise: boolean): string {
  const has_seconds =
    is_precise && at.slice(17, 19) !== '00' && !isShownTwice(Date.parse(at), zone);
  const own = has_seconds ? seconds(at, zone) : dated(at, zone);
  const today = written(new Date(now_ms).toISOString(), zone).slice(0, 10);
  return own.startsWith(today) ? own.slice(11) : own;
}

/** Returns two instants in the time zone, named once, and in UTC if that differs. */
export function exactRange(from: string, to: string, zone: string): string {
  const own = `${written(from, zone)} to ${written(to, zone)} ${zone}`;
  return zone === 'UTC' ? own : `${own} (${written(from, 'UTC')} to ${written(to, 'UTC')} UTC)`;
}

/** Returns the instant in the time zone to the second, as `2026-01-31 12:00:05`. */
export function seconds(at: string, zone: string): string {
  // Time zones differ by whole minutes, except for times before they existed.
  return `${written(at, zone)}:${at.slice(17, 19)}`;
}
