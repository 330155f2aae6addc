const formats = new Map<string, Intl.DateTimeFormat>();
const day_ms = 86_400_000;

/** What a clock on a wall of the zone shows at the instant, in milliseconds as if that were UTC. */
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
 * When a clock on a wall of the zone shows this: the first time where it does twice, and where the
 * clocks are moved past it as much later as they are moved.
 */
export function instantOf(wall: number, zone: string): number {
  const offsets = offsetsAround(wall, zone);
  const first = wall - Math.max(...offsets);
  return wallClock(first, zone) === wall ? first : wall - Math.min(...offsets);
}

/** Whether the clocks of the zone show another instant as they show this one. */
export function isShownTwice(at: number, zone: string): boolean {
  const wall = wallClock(at, zone);
  return offsetsAround(wall, zone).some(
    (offset) => wall - offset !== at && wallClock(wall - offset, zone) === wall,
  );
}

/** How far the clocks of the zone are before UTC a day earlier, and a day later. */
function offsetsAround(wall: number, zone: string): number[] {
  return [wall - day_ms, wall + day_ms].map((at) => wallClock(at, zone) - at);
}
