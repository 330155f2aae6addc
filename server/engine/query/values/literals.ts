/** Instants that ClickHouse's DateTime64 can hold. */
const instant_min = Date.UTC(1900, 0, 1);
const instant_max = Date.UTC(2299, 11, 31, 23, 59, 59);

const instant =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6})\d*)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?$/;

/**
 * Returns a text as an instant in ClickHouse's form (UTC, microseconds), or undefined. The text is
 * a date, or a date with a time, with `Z`, an offset, or nothing for UTC. Seconds and fractions are
 * optional.
 */
export function parseInstant(text: string): string | undefined {
  const match = instant.exec(text.trim());
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0)) as [number, number, number, number, number, number];
  const local = Date.UTC(year, month - 1, day, hour, minute, second);
  const isReal = new Date(local)
    .toISOString()
    .startsWith(
      `${match[1]}-${match[2]}-${match[3]}` +
        `T${match[4] ?? '00'}:${match[5] ?? '00'}:${match[6] ?? '00'}`,
    );
  const utc = local - offsetOf(match[8]);
  if (!isReal || utc < instant_min || utc > instant_max) return undefined;
  const seconds = new Date(utc).toISOString().slice(0, 19).replace('T', ' ');
  return `${seconds}.${(match[7] ?? '').padEnd(6, '0')}`;
}

function offsetOf(zone: string | undefined): number {
  if (zone === undefined || zone === 'Z') return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2));
  return (zone.startsWith('-') ? -minutes : minutes) * 60_000;
}

/** Returns a text as a date `YYYY-MM-DD`, or undefined. */
export function parseDate(text: string): string | undefined {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) ? parseInstant(text)?.slice(0, 10) : undefined;
}

// A call of Intl takes a tenth of a millisecond; there are some hundred names.
const known_zones = new Set(['UTC']);

/** Returns true if the text names a time zone. */
export function isTimeZone(text: string): boolean {
  if (known_zones.has(text)) return true;
  if (!/^[A-Za-z][\w+/-]*$/.test(text)) return false;
  try {
    Intl.DateTimeFormat('en', { timeZone: text });
    known_zones.add(text);
    return true;
  } catch {
    return false;
  }
}
