import sql from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { RemovalRow } from './schema.ts';

const shown_max = 20;

/** Lists the latest removals of a project, newest first. */
export function listRetentionRemovals(db: Queryable, team_id: number): Promise<RemovalRow[]> {
  return db.rows<RemovalRow>(sql`
    SELECT id, retention, removed_before, events, persons, started_at, ended_at
    FROM retention_removals WHERE team_id = ${team_id}
    ORDER BY started_at DESC, id DESC LIMIT ${shown_max}`);
}
