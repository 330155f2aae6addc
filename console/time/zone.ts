const formats = new Map<string, Intl.DateTimeFormat>();
const day_ms = 86_400_000;

/** Returns the zone's local time at the instant, in milliseconds as if it were UTC. */
export function wallClock(at: number, zone: string): number {
  if (zone === 'UTC') return at;
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
      hourCycle: 'h23',
    });
    formats.set(zone, format);
  }
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
  const shown = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  );
  return shown + (((at % 1000) + 1000) % 1000);
}

/**
 * Returns the instant of a local time in the zone: the first one if it occurs twice. If the clocks
 * skip it, the result is later by the skipped time.
 */
export function instantOf(wall: number, zone: string): number {
  return instantsOf(wall, zone)[0] ?? wall - Math.min(...offsetsAround(wall, zone));
}

/** Returns all instants of a local time in the zone: one, two, or none. */
export function instantsOf(wall: number, zone: string): number[] {
  const instants = new Set(offsetsAround(wall, zone).map((offset) => wall - offset));
  return [...instants].filter((at) => wallClock(at, zone) === wall).sort((one, two) => one - two);
}

/** Returns an instant for a date and time field, in the time zone. */
export function fieldOf(at: number, zone: string): string {
  return new Date(wallClock(at, zone)).toISOString().slice(0, 16).replace('T', ' ');
}

const typed_form = /^(\d{4}-\d\d-\d\d)(?:[T ]+(\d?\d):(\d\d))?$/;

/**
 * Returns the typed instant of a date, or date and time field, in the time zone:
 * `2026-11-28 22:00`, `2026-11-28`. Undefined for an invalid text.
 */
export function typedAt(field: string, zone: string): number | undefined {
  const [, day, hour = '0', minute = '00'] = typed_form.exec(field.trim()) ?? [];
  const wall = Date.parse(`${day}T${hour.padStart(2, '0')}:${minute}Z`);
  // Parsed, the 31st of February is a day of March.
  const is_day = !Number.isNaN(wall) && new Date(wall).toISOString().startsWith(day!);
  return is_day ? instantOf(wall, zone) : undefined;
}

/** Returns true if another instant has the same local time in the zone. */
export function isShownTwice(at: number, zone: string): boolean {
  return instantsOf(wallClock(at, zone), zone).length > 1;
}

/** Returns the zone's offset from UTC a day earlier, and a day later. */
function offsetsAround(wall: number, zone: string): number[] {
  return [wall - day_ms, wall + day_ms].map((at) => wallClock(at, zone) - at);
}
