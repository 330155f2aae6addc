import sql from 'sql-template-tag';
import { writeRunLog } from '../../../engine/model/run_log.ts';
import { conflict } from '../../../platform/http/errors.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import type { LockedRun } from './store.ts';

/**
 * Requests the cancellation of a run; a worker cancels it within about two seconds. The caller
 * holds the locks on the export and on the run. Repeating it is harmless. Throws 409 if the run has
 * ended, or if the destination may already show its rows.
 */
export async function cancelRun(tx: Transaction, exportId: string, run: LockedRun): Promise<void> {
  if (run.status !== 'Starting' && run.status !== 'Running')
    throw conflict(`The run has ended: its status is ${run.status}.`);
  if (run.committing_at !== null)
    throw conflict(
      'The destination is committing the delivery now, so it can no longer be cancelled.',
    );
  const changed = await tx.run(
    sql`UPDATE batch_export_runs SET cancel_requested_at = now(), last_updated_at = now()
      WHERE id = ${run.id} AND cancel_requested_at IS NULL`,
  );
  if (changed > 0)
    await writeRunLog(tx, {
      batch_export_id: exportId,
      run_id: run.id,
      level: 'INFO',
      message: 'Cancellation was requested.',
    });
}
