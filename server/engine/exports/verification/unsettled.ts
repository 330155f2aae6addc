import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { StoredRectangle } from '../../model/ledger/rectangles.ts';
import type { LookedAtExport } from './missing_deliveries.ts';

/** A delivery that a reader may see before its run has completed. */
export type Unsettled = { batch_export_id: string; delivery: string; selection: StoredRectangle[] };

/**
 * Returns true if an erasure, retention or a run that rewrites a delivery has changed the project's
 * deliveries or rows since the instant.
 */
export async function isMoving(
  db: Queryable,
  { id, team_id }: LookedAtExport,
  since: string,
): Promise<boolean> {
  const row = await db.row(sql`
    SELECT 1 WHERE EXISTS (SELECT 1 FROM erasures WHERE team_id = ${team_id}
        AND coalesce(finished_at, now()) >= ${since}::timestamptz)
      OR EXISTS (SELECT 1 FROM retention_removals WHERE team_id = ${team_id}
        AND coalesce(ended_at, now()) >= ${since}::timestamptz)
      OR EXISTS (SELECT 1 FROM batch_export_runs WHERE batch_export_id = ${id}
        AND replaces IS NOT NULL AND (status IN ('Starting', 'Running')
          OR finished_at >= ${since}::timestamptz))`);
  return row !== undefined;
}

const columns = sql`run.batch_export_id, right(run.delivery_id::text, 12) AS delivery,
  run.selection`;

/** Lists the deliveries of all exports that are in progress or uncertain. */
export function listUnsettled(db: Queryable): Promise<Unsettled[]> {
  // Uses batch_export_runs_taken.
  return db.rows<Unsettled>(sql`
    SELECT ${columns} FROM batch_export_runs run
    WHERE run.status IN ('Starting', 'Running')
      OR (run.status <> 'Completed' AND run.committing_at IS NOT NULL)`);
}

/** Lists the deliveries of an export whose runs were planned since the instant. */
export function listPlannedSince(db: Queryable, id: string, since: string): Promise<Unsettled[]> {
  // Uses batch_export_runs_by_export.
  return db.rows<Unsettled>(sql`
    SELECT ${columns} FROM batch_export_runs run
    WHERE run.batch_export_id = ${id} AND run.created_at >= ${since}::timestamptz
      AND run.id = run.delivery_id`);
}
