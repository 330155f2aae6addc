import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { StoredRectangle } from './rectangles.ts';

/**
 * A delivery that the destination may or may not show: its run ended during the commit. It belongs
 * to the export's present revision, and no other run has resolved it or is about to.
 */
export type UncertainDelivery = {
  run_id: string;
  batch_export_id: string;
  delivery_id: string;
  data_interval_start: string;
  data_interval_end: string;
  selection: StoredRectangle[];
  records: number;
  latest_error: string | null;
};

/**
 * Lists the uncertain deliveries of one export, or of all exports that are not deleted, oldest
 * first.
 */
export function listUncertain(db: Queryable, exportId?: string): Promise<UncertainDelivery[]> {
  // The first condition on the run matches the index batch_export_runs_taken.
  return db.rows<UncertainDelivery>(sql`
    SELECT * FROM (
      SELECT DISTINCT ON (run.batch_export_id, run.delivery_id) run.id AS run_id,
        run.batch_export_id, run.delivery_id, run.data_interval_start, run.data_interval_end,
        run.selection, coalesce(run.records_total_count, 0)::int AS records, run.latest_error,
        export.created_at
      FROM batch_export_runs run JOIN batch_exports export ON export.id = run.batch_export_id
        AND export.revision = run.revision AND export.deleted_at IS NULL
      WHERE (run.status IN ('Starting', 'Running')
          OR (run.status <> 'Completed' AND run.committing_at IS NOT NULL))
        AND run.status NOT IN ('Starting', 'Running')
        AND (${exportId ?? null}::uuid IS NULL OR run.batch_export_id = ${exportId ?? null})
        AND NOT EXISTS (SELECT 1 FROM batch_export_runs other
          WHERE other.batch_export_id = run.batch_export_id
            AND other.status IN ('Starting', 'Running', 'Completed')
            AND (other.id = run.delivery_id OR (other.delivery_id = run.delivery_id
              AND other.id <> other.delivery_id)))
      ORDER BY run.batch_export_id, run.delivery_id, run.created_at DESC) AS latest
    ORDER BY created_at, batch_export_id, data_interval_start`);
}
