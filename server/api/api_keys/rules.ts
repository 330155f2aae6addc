import type { FastifyRequest } from 'fastify';
import type { Static, TObject } from 'typebox';
import { isUuid } from '../../platform/uuid.ts';
import { beginBody } from '../../platform/http/bodies/body.ts';
import { conflict, invalid, ownFactorRequired } from '../../platform/http/errors.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { rangeFaults } from '../../platform/http/ip_ranges.ts';
import { isInstant } from '../../platform/instant.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { limits_max } from './schema.ts';
import type { ApiKeyRow } from './schema.ts';
import { ownOrganizations, ownProjects } from './store.ts';
import type { Owner } from './store.ts';
import { counted } from '../../platform/counted.ts';

/** Keys that work at a time, per person. */
const keys_max = 100;

const lists = ['scopes', 'scoped_organizations', 'scoped_teams', 'allowed_ip_ranges'] as const;
const team_id_max = 2_147_483_647;

/** Throws 400 when the person has as many working keys as one may have. */
export function refuseTooMany(live: number): void {
  if (live >= keys_max)
    throw invalid(
      null,
      'max_items',
      `You have ${counted(live, 'key')} that work, and ${keys_max} is the most: delete those ` +
        `that ` +
        'you no ' +
        'longer need, then try again.',
    );
}

/** Is the key refused for its age? */
export function isExpired({ expires_at }: ApiKeyRow, now_ms: number): boolean {
  return expires_at !== null && Date.parse(expires_at) <= now_ms;
}

/**
 * Throws 409 where a change of the end (undefined: none was sent) would bring a key back: one that
 * has expired stays so, and one that was rolled may only end sooner, because its successor counts
 * in its place.
 */
export function refuseRevival(
  key: ApiKeyRow,
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

/**
 * The checked body of a key. Throws one 400 with every violation, of the schema and of the rules: a
 * scope or a limit stands once, limits name organizations and projects of the person (others are
 * told apart from unknown ones by nothing), ranges are addresses or networks, and the expiry lies
 * in the future.
 */
export async function keyBody<Schema extends TObject>(
  request: FastifyRequest,
  schema: Schema,
  about: { db: Queryable; now_ms: number },
): Promise<Static<Schema>> {
  const { sent, endWith } = beginBody(request, schema);
  return endWith([
    ...lists.flatMap((name) => repeated(name, entriesOf(sent, name))),
    ...rangeFaults('allowed_ip_ranges', entriesOf(sent, 'allowed_ip_ranges')),
    ...pastExpiry(sent['expires_at'], about.now_ms),
    ...(await foreignLimits(about.db, request.caller, sent)),
  ]);
}

/**
 * The limits of a key as it is stored: one that is created in a session which a provider opened is
 * kept to the organizations that the session reaches. Throws 403 where it reaches none.
 */
export function keptToReach<Fields extends { scoped_organizations?: string[] }>(
  { scoped_organizations: reach }: Owner,
  fields: Fields,
): Fields {
  const limits = fields.scoped_organizations;
  if (reach === null || (limits !== undefined && limits.length > 0)) return fields;
  if (reach.length === 0) throw ownFactorRequired();
  return { ...fields, scoped_organizations: reach };
}

/** The entries of a list; none of one that is too long, because it is refused for that. */
function entriesOf(given: Record<string, unknown>, name: string): unknown[] {
  const value = given[name];
  return Array.isArray(value) && value.length <= limits_max ? value : [];
}

function repeated(name: string, entries: unknown[]): Violation[] {
  const plain = entries.map((entry) => (typeof entry === 'string' ? entry.toLowerCase() : entry));
  return plain.flatMap((entry, index) =>
    plain.indexOf(entry) === index
      ? []
      : [{ attr: `${name}__${index}`, code: 'unique', detail: 'This is already in the list.' }],
  );
}

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

async function foreignLimits(
  db: Queryable,
  owner: Owner,
  given: Record<string, unknown>,
): Promise<Violation[]> {
  const organizations = entriesOf(given, 'scoped_organizations').map((entry) =>
    typeof entry === 'string' && isUuid(entry) ? entry.toLowerCase() : undefined,
  );
  const projects = entriesOf(given, 'scoped_teams').map((entry) =>
    isTeamId(entry) ? entry : undefined,
  );
  return [
    ...foreign(
      'scoped_organizations',
      organizations,
      await own(organizations, (ids) => ownOrganizations(db, owner, ids)),
      'You belong to no such organization.',
    ),
    ...foreign(
      'scoped_teams',
      projects,
      await own(projects, (ids) => ownProjects(db, owner, ids)),
      'None of your organizations has such a project.',
    ),
  ];
}

function isTeamId(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= team_id_max;
}

async function own<Id>(
  ids: (Id | undefined)[],
  find: (ids: Id[]) => Promise<Set<Id>>,
): Promise<Set<Id>> {
  const wellFormed = ids.filter((id) => id !== undefined);
  return wellFormed.length === 0 ? new Set() : find(wellFormed);
}

/**
 * Names each entry that is not among the own ones; what has not even the form is named by the
 * schema.
 */
function foreign<Id>(
  name: string,
  ids: (Id | undefined)[],
  own_ids: Set<Id>,
  detail: string,
): Violation[] {
  return ids.flatMap((id, index) =>
    id === undefined || own_ids.has(id)
      ? []
      : [{ attr: `${name}__${index}`, code: 'invalid_choice', detail }],
  );
}
