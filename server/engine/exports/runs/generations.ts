import sql from 'sql-template-tag';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { fromStored, isHistory } from '../../model/ledger/rectangles.ts';
import type { ClaimedRun } from '../../model/run.ts';

/** A run that has completed. */
type CompletedRun = Pick<
  ClaimedRun,
  'id' | 'batch_export_id' | 'delivery_id' | 'revision' | 'selection' | 'data_interval_end'
>;

/**
 * Marks the generation that now stands in each replaced table, that of the latest end, after runs
 * that wrote the whole table. It replaces earlier ones, and uncertain runs of earlier generations
 * no longer matter. The caller holds the locks on the exports' rows.
 */
export async function markGenerations(tx: Transaction, completed: CompletedRun[]): Promise<void> {
  for (const run of completed) if (isHistory(fromStored(run.selection))) await mark(tx, run);
}

async function mark(tx: Transaction, run: CompletedRun): Promise<void> {
  const { id, batch_export_id, delivery_id, revision, data_interval_end: end } = run;
  // Uses batch_export_runs_standing.
  await tx.run(sql`
    UPDATE batch_export_runs SET generation = 'replaced'
    WHERE batch_export_id = ${batch_export_id} AND generation = 'stands'
      AND revision = ${revision} AND delivery_id <> ${delivery_id}
      AND data_interval_end <= ${end}::timestamptz`);
  await tx.run(sql`
    UPDATE batch_export_runs SET generation = CASE WHEN EXISTS (
        SELECT 1 FROM batch_export_runs later WHERE later.batch_export_id = ${batch_export_id}
          AND later.generation = 'stands' AND later.revision = ${revision}
          AND later.data_interval_end > ${end}::timestamptz)
      THEN 'replaced' ELSE 'stands' END
    WHERE id = ${id}`);
  // Uses batch_export_runs_taken.
  await tx.run(sql`
    UPDATE batch_export_runs SET committing_at = NULL, records_completed = 0, bytes_completed = 0,
      "cursor" = NULL, last_updated_at = now()
    WHERE batch_export_id = ${batch_export_id} AND revision = ${revision}
      AND status NOT IN ('Starting', 'Running', 'Completed') AND committing_at IS NOT NULL
      AND delivery_id <> ${delivery_id} AND data_interval_end <= ${end}::timestamptz`);
}

/**
 * Returns true if this run, which writes the whole table, is no longer needed. A later one has
 * completed; or one is open, and nothing of this one can be at the destination.
 */
export async function isSuperseded(db: Queryable, run: ClaimedRun): Promise<boolean> {
  const { batch_export_id, revision, data_interval_start: start, data_interval_end: end } = run;
  const isNowhere = run.committing_at === null && run.replaces === null;
  const statuses = isNowhere ? ['Starting', 'Running', 'Completed'] : ['Completed'];
  // Uses batch_export_runs_by_interval.
  const later = await db.row(sql`
    SELECT 1 FROM batch_export_runs WHERE batch_export_id = ${batch_export_id}
      AND revision = ${revision} AND data_interval_start >= ${start}::timestamptz
      AND data_interval_end > ${end}::timestamptz AND status = ANY (${statuses}::text[])
      AND cancel_requested_at IS NULL AND replaces IS NULL
    LIMIT 1`);
  return later !== undefined;
}
