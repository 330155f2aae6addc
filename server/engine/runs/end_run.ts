import sql from 'sql-template-tag';
import { batchCalls } from '../../platform/batched_calls.ts';
import { completeTogether, completed_message } from './complete_together.ts';
import { addDelivered } from '../ledger/deliveries.ts';
import { findDestination } from '../destinations/index.ts';
import type { Engine } from '../engine.ts';
import { followRun } from '../health/follow_run.ts';
import { fromStored } from '../ledger/ledger.ts';
import { makeUp } from '../planning/make_up.ts';
import { writeRunLog } from '../run_log.ts';
import { attempts_max } from '../run.ts';
import type { ClaimedRun, RunEnd } from '../run.ts';
import { hold } from './runs.ts';

const without_rows = sql`
  records_completed = CASE WHEN committing_at IS NULL AND records_completed IS NOT NULL THEN 0
    ELSE records_completed END,
  bytes_completed = CASE WHEN committing_at IS NULL AND bytes_completed IS NOT NULL THEN 0
    ELSE bytes_completed END,
  "cursor" = CASE WHEN committing_at IS NULL THEN NULL ELSE "cursor" END,`;

/**
 * The one place where a worker's run ends. Completed adds its selection to the ledger in the same
 * transaction; every other end gives the selection back, unless the commit had begun: then it stays
 * taken, because the destination may show it, and only a retry of this run settles it. A run that
 * shows nothing has delivered no rows. The health of the export follows in the same transaction.
 */
export async function endRun(engine: Engine, run: ClaimedRun, end: RunEnd): Promise<void> {
  await (end.status === 'Completed' ? completeRun(engine, run) : endAlone(engine, run, end));
  engine.metrics.runs_finished.inc({ status: end.status, destination: run.destination_type });
}

const completeRun = batchCalls<Engine, ClaimedRun, true>({
  together: completeTogether,
  alone: async (engine, run) => {
    await endAlone(engine, run, { status: 'Completed' });
    return true;
  },
});

async function endAlone(engine: Engine, run: ClaimedRun, end: RunEnd): Promise<void> {
  const error = end.status === 'Completed' ? null : end;
  const keepsRows =
    end.status === 'Completed' || findDestination(run.destination_type)?.shows_as_written === true;
  await engine.db.transaction(async (tx) => {
    // The export's row is the lock under which its ledger changes; it is taken before the run's row
    // everywhere.
    await tx.row(sql`SELECT 1 FROM batch_exports WHERE id = ${run.batch_export_id} FOR UPDATE`);
    await hold(
      tx,
      run,
      sql`status = ${end.status}, finished_at = now(), latest_error = ${error?.message ?? null},
        error_code = ${error?.code ?? null},
      ${keepsRows ? sql`` : without_rows}
      model = NULL, custom_query = NULL, destination_type = NULL, destination_config = NULL,
        destination_secrets = NULL`,
    );
    if (end.status === 'Completed')
      await addDelivered(tx, [{ ...run, selection: fromStored(run.selection) }]);
    else await makeUp(tx, run);
    await writeRunLog(tx, {
      batch_export_id: run.batch_export_id,
      run_id: run.id,
      level: end.status === 'Completed' ? 'INFO' : end.status === 'Cancelled' ? 'WARNING' : 'ERROR',
      message: error === null ? completed_message : `Run ended as ${end.status}: ${error.message}`,
    });
    await followRun(engine, tx, run, end);
  });
}

/**
 * Notes a failed attempt and lets the run wait for a worker again, not before a growing pause is
 * over (2 s doubling to 2 min).
 */
export async function retryLater(
  engine: Engine,
  run: ClaimedRun,
  error: { code: string; message: string },
): Promise<void> {
  const failures = run.failures + 1;
  const delay_seconds = Math.min(2 ** failures, 120);
  await engine.db.transaction(async (tx) => {
    // The export's row before the run's, as everywhere: the log line's foreign key would ask for it
    // afterwards.
    await tx.row(sql`SELECT 1 FROM batch_exports WHERE id = ${run.batch_export_id} FOR KEY SHARE`);
    await hold(
      tx,
      run,
      sql`failures = ${failures}, latest_error = ${error.message}, error_code = ${error.code},
        worker_id = NULL, due_at = now() + make_interval(secs => ${delay_seconds})`,
    );
    await writeRunLog(tx, {
      batch_export_id: run.batch_export_id,
      run_id: run.id,
      level: 'WARNING',
      message:
        `Attempt ${failures} of ${attempts_max} failed, the next follows in ${delay_seconds} s: ` +
        error.message,
    });
  });
}
