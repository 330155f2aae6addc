import type { FastifyRequest } from 'fastify';
import { personOf } from '../../platform/http/caller/access.ts';
import { notFound } from '../../platform/http/errors.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { isUuid } from '../../platform/uuid.ts';
import type { MemberRow } from './schema.ts';
import { findMember } from './store.ts';

/** Returns the member of the path by `find`; throws 404 otherwise. */
export async function getMember<Db extends Queryable>(
  request: FastifyRequest,
  db: Db,
  find: (
    db: Db,
    organization_id: string,
    user_uuid: string,
  ) => Promise<MemberRow | undefined> = findMember,
): Promise<MemberRow> {
  const { user__uuid: name = '' } = request.params as { user__uuid?: string };
  const uuid = name === '@me' ? personOf(request).user_uuid : name;
  const member = isUuid(uuid) ? await find(db, request.access.organization_id, uuid) : undefined;
  if (member === undefined) throw notFound();
  return member;
}
