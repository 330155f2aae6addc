import type { FastifyRequest } from 'fastify';
import type { Static, TObject } from 'typebox';
import { counted } from '../../platform/counted.ts';
import {
  foreignEntries,
  isExpired,
  keyBodyOf,
  teamsIn,
} from '../../platform/http/caller/key_rules.ts';
import { conflict, invalid } from '../../platform/http/errors.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { ServiceKeyRow } from './schema.ts';
import { findProjectsOf } from './store.ts';

/** Most working keys of an organization. */
const keys_max = 100;

/** Throws 400 if the organization has the most working keys. */
export function refuseTooManyKeys(live: number): void {
  if (live < keys_max) return;
  throw invalid(
    null,
    'max_items',
    `The organization has ${counted(live, 'service key')} that work, and ${keys_max} is the ` +
      'most: revoke one that no program uses, then try again.',
  );
}

/** Throws 409 for a key that has expired or was rotated, so it can have no successor. */
export function refuseSecondRoll(key: ServiceKeyRow, is_rolled: boolean, now_ms: number): void {
  if (isExpired(key, now_ms))
    throw conflict('This key has expired, so there is nothing to replace: create a new key.');
  if (is_rolled)
    throw conflict(
      'This key was rotated and has a successor: rotate the successor, or create a new key.',
    );
}

/** Returns the checked body of a service key, whose projects must belong to the organization. */
export function serviceKeyBody<Schema extends TObject>(
  request: FastifyRequest,
  schema: Schema,
  { db, now_ms }: { db: Queryable; now_ms: number },
): Promise<Static<Schema>> {
  const { organization_id } = request.access;
  return keyBodyOf(request, schema, now_ms, (sent) =>
    foreignEntries(
      'scoped_teams',
      teamsIn(sent),
      (ids) => findProjectsOf(db, organization_id, ids),
      'The organization has no such project.',
    ),
  );
}
