import type { ActivityRow } from '../../server/api/activity/schema.ts';
import { levelWord } from '../signed_in/member_words.ts';

/**
 * Returns the numbers that are missing between consecutive entries of the list, newest first. An
 * unchanged log has none, because its numbers go up by one.
 */
export function missingBetween(entries: readonly Pick<ActivityRow, 'number'>[]): number[] {
  return entries.slice(1).flatMap(({ number }, index) => {
    const gap = entries[index]!.number - number - 1;
    return Array.from({ length: Math.max(gap, 0) }, (_, step) => number + 1 + step);
  });
}

/** Returns a value of a change for people: texts unchanged, a level by name, others as JSON. */
export function shownValue(value: unknown, field: string): string {
  if (field === 'level' && typeof value === 'number') return levelWord(value);
  if (value === null || value === undefined) return 'nothing';
  if (value === '') return 'an empty text';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * Returns the name of a changed field in words: `destination.config.table_name` becomes
 * "Destination: table name". A name that others chose, such as the name of a property, stays
 * unchanged.
 */
export function fieldWords(field: string): string {
  const parts = field.split('.').filter((part, at) => at === 0 || part !== 'config');
  if (!parts.every((part) => /^[a-z][a-z0-9_]*$/.test(part))) return field;
  const words = parts.map((part) => part.replaceAll('_', ' ')).join(': ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
