import type { FastifyRequest } from 'fastify';
import type { Static, TObject } from 'typebox';
import { isUuid } from '../../platform/uuid.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import { beginBody } from '../../platform/http/bodies/body.ts';
import { entriesOf, pastExpiry, repeatedEntries } from '../../platform/http/caller/key_rules.ts';
import { conflict, invalid, ownFactorRequired } from '../../platform/http/errors.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { rangeFaults } from '../../platform/http/guards/ip_ranges.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
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

/** Throws 409 for the grant of an assistant: what it may do, its person said in the sign-in. */
export function refuseGrant({ agent }: Pick<ApiKeyRow, 'agent'>): void {
  if (agent !== null)
    throw conflict(
      'An assistant got this by signing in. Revoke it, and let the assistant sign in again.',
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
    ...lists.flatMap((name) => repeatedEntries(name, entriesOf(sent, name))),
    ...rangeFaults('allowed_ip_ranges', entriesOf(sent, 'allowed_ip_ranges')),
    ...pastExpiry(sent['expires_at'], about.now_ms),
    ...(await foreignLimits(about.db, personOf(request), sent)),
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
