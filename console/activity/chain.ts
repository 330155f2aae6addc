import type { ActivityRow } from '../../server/api/activity/schema.ts';

/**
 * The numbers that are missing between entries that follow each other in the log, newest first.
 * The log has none: its numbers go up by one.
 */
export function missingBetween(entries: readonly Pick<ActivityRow, 'number'>[]): number[] {
  return entries.slice(1).flatMap(({ number }, index) => {
    const gap = entries[index]!.number - number - 1;
    return Array.from({ length: Math.max(gap, 0) }, (_, step) => number + 1 + step);
  });
}

/** A value of a change as a person reads it: texts as they are, the rest as JSON. */
export function shownValue(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (value === '') return 'an empty text';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
