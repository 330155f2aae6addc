import type { FastifyRequest } from 'fastify';
import type { Static, TObject } from 'typebox';
import { isInstant } from '../../instant.ts';
import { beginBody } from '../bodies/body.ts';
import { conflict } from '../errors.ts';
import type { Violation } from '../errors.ts';
import { rangeFaults } from '../guards/ip_ranges.ts';
import { isValidateOnly } from '../lists/query.ts';

/** Most entries of a list of a key's limits. */
export const entries_max = 100;
const team_id_max = 2_147_483_647;

/** The end of a key, of a person or of an organization. */
type Key = { expires_at: string | null };

/** Returns true if the key has expired. */
export function isExpired({ expires_at }: Key, now_ms: number): boolean {
  return expires_at !== null && Date.parse(expires_at) <= now_ms;
}

/**
 * Throws 409 if a change of the end (undefined: none was sent) would revive a key. An expired key
 * stays expired. A rotated one may only end sooner, because its successor replaces it.
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

/** Returns the entries of a list; none if it is too long, because it is refused for that. */
export function entriesOf(given: Record<string, unknown>, name: string): unknown[] {
  const value = given[name];
  return Array.isArray(value) && value.length <= entries_max ? value : [];
}

/** Lists entries that occur earlier in the list. */
function repeatedEntries(name: string, entries: unknown[]): Violation[] {
  const plain = entries.map((entry) => (typeof entry === 'string' ? entry.toLowerCase() : entry));
  return plain.flatMap((entry, index) =>
    plain.indexOf(entry) === index
      ? []
      : [{ attr: `${name}__${index}`, code: 'unique', detail: 'This is already in the list.' }],
  );
}

/** Returns a violation for an expiry that is not in the future. */
function pastExpiry(value: unknown, now_ms: number): Violation[] {
  if (typeof value !== 'string' || !isInstant(value) || Date.parse(value) > now_ms) return [];
  return [
    {
      attr: 'expires_at',
      code: 'invalid_input',
      detail: 'Must be in the future; to end a key now, delete it.',
    },
  ];
}

const lists = ['scopes', 'scoped_organizations', 'scoped_teams', 'allowed_ip_ranges'];

/**
 * Returns the checked body of a key. Throws one 400 with every violation, of the schema and of the
 * rules. Scopes and limits are unique, ranges are addresses or networks, and the expiry is in the
 * future. `foreignIn` returns limits that do not belong to the owner.
 */
export async function keyBodyOf<Schema extends TObject>(
  request: FastifyRequest,
  schema: Schema,
  now_ms: number,
  foreignIn: (sent: Record<string, unknown>) => Promise<Violation[]>,
): Promise<Static<Schema>> {
  const { sent, endWith } = beginBody(request, schema);
  return endWith([
    ...lists.flatMap((name) => repeatedEntries(name, entriesOf(sent, name))),
    ...rangeFaults('allowed_ip_ranges', entriesOf(sent, 'allowed_ip_ranges')),
    ...pastExpiry(sent['expires_at'], now_ms),
    ...(await foreignIn(sent)),
  ]);
}

/** Returns the named projects at their positions; undefined for an invalid name. */
export function teamsIn(sent: Record<string, unknown>): (number | undefined)[] {
  return entriesOf(sent, 'scoped_teams').map((entry) =>
    Number.isInteger(entry) && (entry as number) >= 1 && (entry as number) <= team_id_max
      ? (entry as number)
      : undefined,
  );
}

/**
 * Returns a violation for each entry that `find` does not return for the owner; the schema reports
 * invalid forms.
 */
export async function foreignEntries<Id>(
  name: string,
  ids: (Id | undefined)[],
  find: (ids: Id[]) => Promise<Set<Id>>,
  detail: string,
): Promise<Violation[]> {
  const formed = ids.filter((id) => id !== undefined);
  const own = formed.length === 0 ? new Set() : await find(formed);
  return ids.flatMap((id, index) =>
    id === undefined || own.has(id)
      ? []
      : [{ attr: `${name}__${index}`, code: 'invalid_choice', detail }],
  );
}

/** The answer to the person who created a key. `validate_only` creates none and shows none. */
export function shownOnce<Created>(
  request: FastifyRequest,
  created: Created,
  value: string,
): Created | (Created & { value: string }) {
  return isValidateOnly(request) ? created : { ...created, value };
}
