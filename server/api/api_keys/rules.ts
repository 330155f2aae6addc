import type { FastifyRequest } from 'fastify';
import type { Static, TObject } from 'typebox';
import { isUuid } from '../../platform/uuid.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import {
  entriesOf,
  foreignEntries,
  keyBodyOf,
  teamsIn,
} from '../../platform/http/caller/key_rules.ts';
import { conflict, invalid, ownFactorRequired } from '../../platform/http/errors.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { ApiKeyRow } from './schema.ts';
import { ownOrganizations, ownProjects } from './store.ts';
import type { Owner } from './store.ts';
import { counted } from '../../platform/counted.ts';

/** Keys that work at a time, per person. */
const keys_max = 100;

/** Throws 400 when the person has as many working keys as one may have. */
export function refuseTooMany(live: number): void {
  if (live >= keys_max)
    throw invalid(
      null,
      'max_items',
      `You have ${counted(live, 'key')} that work, and ${keys_max} is the most: delete those ` +
        'that you no longer need, then try again.',
    );
}

/** Throws 409 for the grant of an assistant: what it may do, its person said in the sign-in. */
export function refuseGrant({ agent }: Pick<ApiKeyRow, 'agent'>): void {
  if (agent !== null)
    throw conflict(
      'An assistant got this by signing in. Revoke it, and let the assistant sign in again.',
    );
}

/** The checked body of a key, whose limits name organizations and projects of the person. */
export function keyBody<Schema extends TObject>(
  request: FastifyRequest,
  schema: Schema,
  { db, now_ms }: { db: Queryable; now_ms: number },
): Promise<Static<Schema>> {
  const owner = personOf(request);
  return keyBodyOf(request, schema, now_ms, async (sent) => {
    const organizations = entriesOf(sent, 'scoped_organizations').map((entry) =>
      typeof entry === 'string' && isUuid(entry) ? entry.toLowerCase() : undefined,
    );
    return [
      ...(await foreignEntries(
        'scoped_organizations',
        organizations,
        (ids) => ownOrganizations(db, owner, ids),
        'You belong to no such organization.',
      )),
      ...(await foreignEntries(
        'scoped_teams',
        teamsIn(sent),
        (ids) => ownProjects(db, owner, ids),
        'None of your organizations has such a project.',
      )),
    ];
  });
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
