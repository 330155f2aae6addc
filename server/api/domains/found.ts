import type { FastifyRequest } from 'fastify';
import { uuidParameter } from '../../platform/http/caller/access.ts';
import { missing } from '../../platform/http/errors.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { DomainRow } from './schema.ts';
import { findDomain } from './store.ts';

/** Returns the domain of the path; throws 404 if it does not exist. */
export async function getDomain(
  db: Queryable,
  request: FastifyRequest,
  lock?: 'lock',
): Promise<DomainRow> {
  const id = uuidParameter(request, 'id');
  return (await findDomain(db, request.access.organization_id, id, lock)) ?? missing();
}
