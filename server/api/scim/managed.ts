import type { FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { uuidParameter } from '../../platform/http/caller/access.ts';
import { missing } from '../../platform/http/errors.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { findDomain } from '../domains/store.ts';
import { baseUrl } from './calling.ts';
import type { DirectoryRow } from './schema.ts';
import { readDirectory } from './store.ts';
import type { DomainPlace } from './store.ts';

/** The API path of a domain's directory. */
export const directory_url = '/api/organizations/:organization_id/domains/:id/scim/';
/** The rights to read a directory. */
export const reading = { within: 'organization', scope: 'organization:read' } as const;
/** The rights to change a directory: it can do what owners may, so only owners change it. */
export const changing = {
  within: 'organization',
  scope: 'organization_security:write',
  level: 15,
  recent_factor: true,
  locks_organization: true,
} as const;

/** The domain of a path, with its organization. */
export type ManagedPlace = DomainPlace & { is_verified: boolean };

/** Returns the domain of the path; throws 404 if it does not exist. */
export async function placeOf(
  db: Queryable,
  request: FastifyRequest,
  lock?: 'lock',
): Promise<ManagedPlace> {
  const { organization_id } = request.access;
  const id = uuidParameter(request, 'id');
  const { domain, is_verified } = (await findDomain(db, organization_id, id, lock)) ?? missing();
  return { domain_id: id, domain, is_verified, organization: { id: organization_id, name: '' } };
}

/** Returns the directory in its answered form. */
export function directoryOf(
  { config, clock }: Deps,
  db: Queryable,
  place: DomainPlace,
): Promise<DirectoryRow> {
  return readDirectory(db, place, baseUrl(config, place.domain_id), clock.now());
}
