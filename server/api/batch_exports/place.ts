import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isUuid } from '../../platform/http/caller/access.ts';
import { notFound } from '../../platform/http/errors.ts';

/**
 * Where a request looks: in one project, or in all projects of an organization. `request.access` is
 * one.
 */
export type Place = { organization_id: string; team_id?: number };

/** The condition that the export `e` lies in the place and was not deleted. */
export function isInPlace(place: Place): Sql {
  const within =
    place.team_id === undefined
      ? sql`e.team_id IN (SELECT p.id FROM projects p
        WHERE p.organization_id = ${place.organization_id})`
      : sql`e.team_id = ${place.team_id}`;
  return sql`e.deleted_at IS NULL AND ${within}`;
}

/**
 * The UUID that a path parameter holds. Throws 404 for other text, because nothing can have such an
 * id.
 */
export function uuidParameter(request: FastifyRequest, name: 'id' | 'batch_export_id'): string {
  const text = (request.params as Record<string, string>)[name] ?? '';
  if (!isUuid(text)) throw notFound();
  return text;
}
