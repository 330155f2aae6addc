const zones = new Set([...Intl.supportedValuesOf('timeZone'), 'UTC']);
const other_name = /^[A-Z][A-Za-z]+(\/[A-Z][A-Za-z0-9_+-]+)+$/;

/**
 * True for a name of the IANA time zone database, also for one that is now an alias (`Asia/Kolkata`
 * is one to this runtime); no offsets, no abbreviations.
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
