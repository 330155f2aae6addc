import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/postgres/database.ts';

/** Retention of history: 90 days. */
const kept_ms = 90 * 24 * 3_600_000;
/**
 * Number of rows that one statement removes: few enough to hold its locks only for milliseconds.
 */
const lot = 500;

type Sweeping = { db: Database; clock: Clock };

/**
 * Removes history of exports older than 90 days (log lines, and scheduled runs without rows), in
 * batches, until none is left or `signal` stops it. A run that delivered rows or failed stays as
 * long as its export: its receipt proves the delivery, and it can be retried. The ledger covers
 * runs without rows.
 */
export function sweepHistory(sweeping: Sweeping, signal?: AbortSignal): Promise<void> {
  return sweep(sweeping, [oldLines, emptyRuns], signal);
}

/**
 * Removes exports that were deleted more than 90 days ago, and those of deleted projects, with all
 * of their history, like `sweepHistory`.
 */
export function sweepDeleted(sweeping: Sweeping, signal?: AbortSignal): Promise<void> {
  return sweep(sweeping, [runsOfDeleted, deletedExports], signal);
}

async function sweep(
  { db, clock }: Sweeping,
  statements: ((before: string) => Sql)[],
  signal?: AbortSignal,
): Promise<void> {
  const before = isoInstant(clock.now() - kept_ms);
  for (const statement of statements) {
    let removed = lot;
    while (removed > 0 && signal?.aborted !== true) removed = await db.run(statement(before));
  }
}

// Lines are numbered as they are written, so the primary key finds the oldest first.
const oldLines = (before: string): Sql => sql`
  DELETE FROM batch_export_logs WHERE id IN (
    SELECT id FROM batch_export_logs ORDER BY id LIMIT ${lot})
    AND "timestamp" < ${before}::timestamptz`;

// Uses batch_export_runs_without_rows. The first run of a revision stays: it marks the start of
// what the export needs, which retention reads.
const emptyRuns = (before: string): Sql => sql`
  DELETE FROM batch_export_runs WHERE id IN (
    SELECT run.id FROM batch_export_runs run
    WHERE run.status = 'Completed' AND run.records_completed = 0 AND run.records_rejected = 0
      AND run.backfill_id IS NULL
      AND run.id = run.delivery_id AND run.finished_at < ${before}::timestamptz
      AND EXISTS (SELECT 1 FROM batch_export_runs first
        WHERE first.batch_export_id = run.batch_export_id AND first.revision = run.revision
          AND first.backfill_id IS NULL AND first.id = first.delivery_id
          AND first.data_interval_end < run.data_interval_end)
    ORDER BY run.finished_at LIMIT ${lot} FOR UPDATE SKIP LOCKED)`;

// Open runs are being cancelled, and are removed after their end.
const runsOfDeleted = (before: string): Sql => sql`
  DELETE FROM batch_export_runs WHERE id IN (
    SELECT run.id FROM batch_exports export
      JOIN batch_export_runs run ON run.batch_export_id = export.id
    WHERE (export.deleted_at < ${before}::timestamptz OR export.team_id IS NULL)
      AND run.status NOT IN ('Starting', 'Running')
    LIMIT ${lot} FOR UPDATE OF run SKIP LOCKED)`;

const deletedExports = (before: string): Sql => sql`
  DELETE FROM batch_exports WHERE id IN (
    SELECT id FROM batch_exports export
    WHERE (deleted_at < ${before}::timestamptz OR team_id IS NULL)
      AND NOT EXISTS (SELECT 1 FROM batch_export_runs run WHERE run.batch_export_id = export.id)
    LIMIT 50 FOR UPDATE SKIP LOCKED)`;
