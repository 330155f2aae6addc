import sql from 'sql-template-tag';
import type { Transaction } from '../../platform/postgres/database.ts';
import { addDelivered } from '../ledger/deliveries.ts';
import type { Engine } from '../engine.ts';
import { followCompletedRuns } from '../health/follow_completed_runs.ts';
import type { Interval } from '../planning/interval.ts';
import { fromStored } from '../ledger/ledger.ts';
import { writeRunLogs } from '../run_log.ts';
import type { ClaimedRun } from '../run.ts';

type ExportRow = { id: string; revision: number; interval: Interval; timezone: string };
type HeldRun = ClaimedRun & {
  is_make_up: boolean;
  records_completed: number;
  interval: Interval;
  timezone: string;
};

/** What a run's own log says last when all went well. */
export const completed_message = 'Run completed.';

/**
 * Completes runs of workers in one transaction, as `endRun` does each; gives true for those that
 * are. Left, with nothing changed, is what is more than that: runs of backfills, of earlier
 * revisions and deleted exports, a second run of an export, an end that has to be told to somebody,
 * what the worker has lost, and what somebody else is changing.
 */
export async function completeTogether(
  engine: Engine,
  runs: ClaimedRun[],
): Promise<(true | undefined)[]> {
  const one_per_export = new Map(
    runs.filter((run) => run.backfill_id === null).map((run) => [run.batch_export_id, run]),
  );
  const followed = await engine.db.transaction(async (tx) => {
    const held = await hold(tx, [...one_per_export.values()]);
    const { followed: completed } = await followCompletedRuns(tx, held);
    await complete(tx, completed);
    return completed;
  });
  const ends = new Set(followed.map(({ id, attempt }) => `${id} ${attempt}`));
  return runs.map((run) => (ends.has(`${run.id} ${run.attempt}`) ? true : undefined));
}

async function hold(tx: Transaction, runs: ClaimedRun[]): Promise<HeldRun[]> {
  // The export's row is the lock of its ledger and health and is taken before the run's everywhere.
  // SKIP LOCKED: what is being changed is ended alone, and nobody is waited for.
  const exports = await tx.rows<ExportRow>(sql`
    SELECT id, revision, "interval", timezone FROM batch_exports
      WHERE id = ANY (${runs.map((run) => run.batch_export_id)}::uuid[]) AND deleted_at IS NULL
      FOR UPDATE SKIP LOCKED`);
  const known = new Map(exports.map((row) => [row.id, row]));
  const present = runs.filter((run) => known.get(run.batch_export_id)?.revision === run.revision);
  const rows = await tx.rows<{ id: string; is_make_up: boolean; records_completed: number }>(sql`
    SELECT run.id, run.is_make_up, coalesce(run.records_completed, 0) AS records_completed
    FROM batch_export_runs run JOIN unnest(${present.map((run) => run.id)}::uuid[],
      ${present.map((run) => run.attempt)}::int[]) AS wanted (id, attempt)
      ON wanted.id = run.id AND wanted.attempt = run.attempt
    WHERE run.status = 'Running' FOR UPDATE OF run SKIP LOCKED`);
  const held = new Map(rows.map((row) => [row.id, row]));
  return present.flatMap((run) => {
    const [row, { interval, timezone }] = [held.get(run.id), known.get(run.batch_export_id)!];
    return row === undefined ? [] : [{ ...run, ...row, interval, timezone }];
  });
}

async function complete(tx: Transaction, runs: HeldRun[]): Promise<void> {
  if (runs.length === 0) return;
  await tx.run(sql`
    UPDATE batch_export_runs SET status = 'Completed', finished_at = now(), last_updated_at = now(),
      latest_error = NULL, error_code = NULL,
      model = NULL, custom_query = NULL, destination_type = NULL, destination_config = NULL,
        destination_secrets = NULL WHERE id = ANY (${runs.map((run) => run.id)}::uuid[])`);
  await addDelivered(
    tx,
    runs.map((run) => ({ ...run, selection: fromStored(run.selection) })),
  );
  await writeRunLogs(
    tx,
    runs.map((run) => ({
      batch_export_id: run.batch_export_id,
      run_id: run.id,
      level: 'INFO',
      message: completed_message,
    })),
  );
}
