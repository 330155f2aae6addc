import sql from 'sql-template-tag';
import type { Place } from '../../platform/http/caller/mount.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { instant_column } from '../../platform/postgres/instant.ts';
import { locking } from '../../platform/postgres/locking.ts';

/** A project that an export goes to, and the control store's clock in milliseconds. */
export type TargetProject = { id: number; timezone: string; instant: number };

/**
 * The project that a new export goes to: the wanted one, else the oldest; undefined when the
 * organization has no such project, and the control store's clock in milliseconds. With `lock` it
 * cannot be deleted until the transaction ends.
 */
export function findTargetProject(
  db: Queryable,
  place: Place,
  wanted: number | undefined,
  lock?: 'lock',
): Promise<TargetProject | undefined> {
  const team = place.team_id ?? wanted ?? null;
  // PostgreSQL would refuse the number as a text that is none.
  if (team !== null && !Number.isSafeInteger(team)) return Promise.resolve(undefined);
  return db.row(sql`
    SELECT p.id, p.timezone, ${instant_column} FROM projects p
    WHERE p.organization_id = ${place.organization_id}
      AND (${team}::bigint IS NULL OR p.id = ${team}::bigint)
    ORDER BY p.created_at, p.id LIMIT 1 ${locking(lock, 'FOR SHARE')}`);
}
