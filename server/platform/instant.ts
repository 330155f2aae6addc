const instant =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ]([01]\d|2[0-3]):[0-5]\d:([0-5]\d)(\.\d{1,9})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** Returns true for an existing ISO 8601 instant with a zone, from year 1 to 9999. */
export function isInstant(text: string): boolean {
  if (!instant.test(text) || text.startsWith('0000')) return false;
  const days = new Date(
    Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0),
  ).getUTCDate();
  // The stores accept zones up to sixteen hours away, and the years 1 to 9999 in UTC.
  const [, zoneHours] = /[+-](\d{2}):?\d{2}$/.exec(text) ?? [];
  const milliseconds = Date.parse(text);
  // A store that keeps fewer digits rounds: the last millisecond may move into the year 10000.
  const [year, year_rounded] = [milliseconds, milliseconds + 1].map((instant_ms) =>
    new Date(instant_ms).getUTCFullYear(),
  );
  return (
    Number(text.slice(8, 10)) <= days &&
    Number(zoneHours ?? 0) < 16 &&
    year! >= 1 &&
    year_rounded! <= 9999
  );
}
