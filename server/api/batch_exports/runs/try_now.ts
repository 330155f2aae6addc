import sql from 'sql-template-tag';
import { findWaitingSentence } from '../../../engine/exports/runs/hold_until_reconciled.ts';
import { writeRunLog } from '../../../engine/model/run_log.ts';
import { conflict } from '../../../platform/http/errors.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import type { LockedRun } from './store.ts';

/**
 * Starts the next attempt of waiting runs at once, and returns their number: all runs of the
 * export, or one. Repeating it is harmless. The caller holds the lock on the export. Throws 409 if
 * no run waits.
 */
export async function tryNow(tx: Transaction, exportId: string, run?: LockedRun): Promise<number> {
  const waiting = await findWaitingSentence(tx, exportId);
  if (waiting !== undefined) throw conflict(waiting);
  // SKIP LOCKED: a worker is claiming that run now. `last_updated_at` stays unchanged, because a
  // claim measures the waiting time from it. Uses batch_export_runs_taken.
  const due = await tx.rows<{ id: string }>(sql`
    UPDATE batch_export_runs SET due_at = least(due_at, now()) WHERE id IN (
      SELECT id FROM batch_export_runs WHERE batch_export_id = ${exportId}
        AND status IN ('Starting', 'Running') AND worker_id IS NULL AND attempt > 0
        AND cancel_requested_at IS NULL AND (${run?.id ?? null}::uuid IS NULL
          OR id = ${run?.id ?? null}::uuid)
      ORDER BY id FOR UPDATE SKIP LOCKED)
    RETURNING id`);
  if (due.length === 0) throw conflict(refusalOf(run));
  for (const { id } of due)
    await writeRunLog(tx, {
      batch_export_id: exportId,
      run_id: id,
      level: 'INFO',
      message: 'A person requested the next attempt: it starts at once.',
    });
  return due.length;
}

function refusalOf(run: LockedRun | undefined): string {
  if (run === undefined) return 'No run of this export waits for its next attempt.';
  const { status } = run;
  if (status !== 'Starting' && status !== 'Running')
    return `The run has ended: its status is ${status}.`;
  return 'The run is not waiting for another attempt: a worker has it, or is about to claim it.';
}
