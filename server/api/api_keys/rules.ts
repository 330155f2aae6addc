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

/** Most working keys of a person. */
const keys_max = 100;

/** Throws 400 if the person has the most working keys. */
export function refuseTooMany(live: number): void {
  if (live >= keys_max)
    throw invalid(
      null,
      'max_items',
      `You have ${counted(live, 'key')} that work, and ${keys_max} is the most: delete those ` +
        'that you no longer need, then try again.',
    );
}

/** Throws 409 for the grant of an assistant, whose scopes were chosen in the sign-in. */
export function refuseGrant({ agent }: Pick<ApiKeyRow, 'agent'>): void {
  if (agent !== null)
    throw conflict(
      'An assistant got this key by signing in. Revoke it, and let the assistant sign in again.',
    );
}

/**
 * Returns the checked body of a key, whose limits may only name organizations and projects of the
 * person.
 */
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
        'You do not belong to this organization.',
      )),
      ...(await foreignEntries(
        'scoped_teams',
        teamsIn(sent),
        (ids) => ownProjects(db, owner, ids),
        'Your organizations have no such project.',
      )),
    ];
  });
}

/**
 * Returns the limits to store. A key created in a session of a provider is limited to the
 * organizations that the session reaches. Throws 403 if the session reaches none.
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
