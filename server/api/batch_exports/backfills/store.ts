import sql from 'sql-template-tag';
import type { List } from '../../../platform/http/lists/pagination.ts';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { isInPlace } from '../place.ts';
import type { Place } from '../../../platform/http/caller/mount.ts';
import type { Backfill } from './schema.ts';

// The statement counts the runs of each backfill by batch_export_runs_by_backfill alone, which
// contains all columns.
const selectBackfills = sql`
  SELECT b.id, b.batch_export_id AS batch_export, b.status, b.mode, b.selects_by AS by,
    b.is_run_now, b.start_at, b.end_at, b.total_runs AS runs, b.detail,
    b.settles_at, b.created_at, b.finished_at, b.last_updated_at, counted.progress
  FROM batch_export_backfills b JOIN batch_exports e ON e.id = b.batch_export_id CROSS
    JOIN LATERAL (
    SELECT json_build_object('total_runs', b.total_runs, 'finished_runs',
      count(*) FILTER (WHERE r.status NOT IN ('Starting', 'Running')), 'completed_runs',
      count(*) FILTER (WHERE r.status = 'Completed'),
      'records_completed', coalesce(sum(r.records_completed), 0), 'records_total_count',
        coalesce(sum(r.records_total_count), 0), 'records_elsewhere',
        b.records_elsewhere) AS progress
    FROM batch_export_runs r WHERE r.backfill_id = b.id) counted`;

/** Lists an export's backfills, newest first. */
export function listBackfills(place: Place, exportId: string): List {
  return {
    rows: (page) => sql`${selectBackfills} WHERE e.id = ${exportId} AND ${isInPlace(place)}
      ORDER BY b.created_at DESC, b.id DESC LIMIT ${page.limit} OFFSET ${page.offset}`,
    count: sql`SELECT count(*) AS count FROM batch_export_backfills
      WHERE batch_export_id = ${exportId}`,
  };
}

/** Returns the wire form of a backfill if its export is in the place. */
export function findBackfill(
  db: Queryable,
  place: Place,
  exportId: string,
  id: string,
): Promise<Backfill | undefined> {
  return db.row<Backfill>(
    sql`${selectBackfills} WHERE b.id = ${id} AND e.id = ${exportId} AND ${isInPlace(place)}`,
  );
}

/**
 * Lists the export's open backfills. The caller holds the lock on the export, so no other backfill
 * can start.
 */
export function listOpenBackfills(tx: Transaction, exportId: string): Promise<{ id: string }[]> {
  return tx.rows(
    sql`SELECT id FROM batch_export_backfills WHERE batch_export_id = ${exportId}
      AND finished_at IS NULL`,
  );
}
