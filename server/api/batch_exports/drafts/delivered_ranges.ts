import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { ChangeEffect } from './schema.ts';

/**
 * Lists the ranges of an export's deliveries in its current revision, at most one for each clock.
 */
export function listDeliveredRanges(db: Queryable, id: string): Promise<ChangeEffect['delivered']> {
  return db.rows(sql`
    SELECT coalesce(b.selects_by, 'inserted_at') AS by,
      wire_instant(min(r.data_interval_start)) AS start_at,
      wire_instant(max(r.data_interval_end)) AS end_at
    FROM batch_exports e JOIN batch_export_runs r
      ON r.batch_export_id = e.id AND r.revision = e.revision
    LEFT JOIN batch_export_backfills b ON b.id = r.backfill_id
    WHERE e.id = ${id}::uuid AND r.status = 'Completed' AND r.records_completed > 0
    GROUP BY 1 ORDER BY 1`);
}
