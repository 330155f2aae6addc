const zones = new Set([...Intl.supportedValuesOf('timeZone'), 'UTC']);
const other_name = /^[A-Z][A-Za-z]+(\/[A-Z][A-Za-z0-9_+-]+)+$/;

/**
 * Returns true for a name of the IANA time zone database, including aliases (such as `Asia/Kolkata`
 * for this runtime), but no offsets and abbreviations.
 */
export function isTimezone(name: string): boolean {
  if (zones.has(name)) return true;
  if (!other_name.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
