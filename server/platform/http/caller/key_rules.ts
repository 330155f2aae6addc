import { isInstant } from '../../instant.ts';
import { conflict } from '../errors.ts';
import type { Violation } from '../errors.ts';

/** Entries that a list of limits of a key can have. */
export const entries_max = 100;

/** The end of a key, of a person or of an organization. */
type Key = { expires_at: string | null };

/** Is the key refused for its age? */
export function isExpired({ expires_at }: Key, now_ms: number): boolean {
  return expires_at !== null && Date.parse(expires_at) <= now_ms;
}

/**
 * Throws 409 where a change of the end (undefined: none was sent) would bring a key back: one that
 * has expired stays so, and one that was rolled may only end sooner, because its successor counts
 * in its place.
 */
export function refuseRevival(
  key: Key,
  is_rolled: boolean,
  expires_at: string | null | undefined,
  now_ms: number,
): void {
  if (expires_at === undefined) return;
  if (isExpired(key, now_ms)) throw conflict('This key has expired: create a new one.');
  if (is_rolled && (expires_at === null || Date.parse(expires_at) > Date.parse(key.expires_at!)))
    throw conflict(
      `This key was rotated and ends at ${key.expires_at}; you can only shorten that. Use its ` +
        'successor, or create a new key.',
    );
}

/** The entries of a list; none of one that is too long, because it is refused for that. */
export function entriesOf(given: Record<string, unknown>, name: string): unknown[] {
  const value = given[name];
  return Array.isArray(value) && value.length <= entries_max ? value : [];
}

/** Names each entry that stands in the list before. */
export function repeatedEntries(name: string, entries: unknown[]): Violation[] {
  const plain = entries.map((entry) => (typeof entry === 'string' ? entry.toLowerCase() : entry));
  return plain.flatMap((entry, index) =>
    plain.indexOf(entry) === index
      ? []
      : [{ attr: `${name}__${index}`, code: 'unique', detail: 'This is already in the list.' }],
  );
}

/** Names an expiry that is not in the future. */
export function pastExpiry(value: unknown, now_ms: number): Violation[] {
  if (typeof value !== 'string' || !isInstant(value) || Date.parse(value) > now_ms) return [];
  return [
    {
      attr: 'expires_at',
      code: 'invalid_input',
      detail: 'Must be in the future; to end a key now, delete it.',
    },
  ];
}
