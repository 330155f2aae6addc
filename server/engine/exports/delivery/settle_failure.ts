import sql from 'sql-template-tag';
import { isOutOfFiles, out_of_files } from '../../../platform/open_files.ts';
import { KnownError, NonRetryableError } from '../../model/destination/errors.ts';
import type { Engine } from '../engine.ts';
import { findHeld, giveDeliveryBack, retryLater, takeCommitBack } from '../runs/progress.ts';
import { endRun } from '../runs/end_runs.ts';
import { LostRunError, attempts_max } from '../../model/run.ts';
import type { ClaimedRun } from '../../model/run.ts';
import { cleanUp, findDelivery } from './clean_up.ts';
import { TableGoneError, startAnew } from './table_gone.ts';

/**
 * Records what a failed attempt means for its run: another attempt, an end, or nothing if another
 * worker has claimed it. Throws only errors that stop the whole process.
 */
export async function settle(
  engine: Engine,
  run: ClaimedRun,
  error: unknown,
  signal: AbortSignal,
): Promise<void> {
  if (signal.reason === 'gone') return removeGone(engine, run);
  if (error instanceof LostRunError || signal.reason === 'lost') return letGo(engine, run);
  if (signal.reason === 'shutdown') throw error;
  try {
    if (error instanceof TableGoneError) await startAnew(engine, run, error);
    else await recordFailure(engine, run, error, signal);
  } catch (recordError) {
    if (!(recordError instanceof LostRunError)) throw recordError;
    await letGo(engine, run);
  }
}

async function recordFailure(
  engine: Engine,
  run: ClaimedRun,
  error: unknown,
  signal: AbortSignal,
): Promise<void> {
  const { code, message } = toldOf(error);
  engine.log.warn({ err: error, run_id: run.id, attempt: run.attempt, code }, 'attempt failed');
  const state = await findHeld(engine, run);
  if (state === undefined) throw new LostRunError();
  if (state.is_committing && isRefused(run, error)) {
    await takeCommitBack(engine, run);
    state.is_committing = false;
  }
  const isFinal = error instanceof NonRetryableError;
  const isSuperseded = isFinal && code === 'superseded';
  const isCancelled =
    (signal.reason === 'cancelled' || run.cancel_requested_at !== null) && !state.is_committing;
  if (!isCancelled && !isFinal && run.failures + 1 < attempts_max)
    return retryLater(engine, run, { code, message });
  if (state.is_committing) {
    // A later generation has replaced whatever this run may have shown.
    const isThere = isSuperseded ? false : await findDelivery(engine, run);
    if (isThere === true) return endRun(engine, run, { status: 'Completed' });
    if (isThere === false) {
      await giveDeliveryBack(engine, run);
      state.is_committing = false;
    }
  } else await cleanUp(engine, run);
  if (isCancelled) return endCancelled(engine, run);
  if (isSuperseded) return endRun(engine, run, { status: 'Cancelled', code, message });
  return endRun(engine, run, {
    status: isFinal ? 'Failed' : 'FailedRetryable',
    code,
    message: inDoubt(message, state.is_committing),
  });
}

/**
 * Returns true if the destination refused the commit, so that nothing of the delivery is visible.
 * The commit of an earlier attempt may still be in progress, whatever the destination answers this
 * one.
 */
export function isRefused(run: ClaimedRun, error: unknown): boolean {
  return run.committing_at === null && error instanceof KnownError && error.is_certain;
}

/**
 * Removes the leftovers of a deleted run. The row that lists the leftovers is deleted last: after a
 * kill, another process repeats the removal.
 */
async function removeGone(engine: Engine, run: ClaimedRun): Promise<void> {
  await cleanUp(engine, run);
  await engine.db.run(sql`DELETE FROM batch_export_leftovers WHERE run_id = ${run.id}`);
}

/**
 * Leaves a run unchanged that another worker has claimed. A statement may notice a deleted row,
 * through any error, before the signal reports it.
 */
async function letGo(engine: Engine, run: ClaimedRun): Promise<void> {
  const row = await engine.db.row(sql`SELECT 1 FROM batch_export_runs WHERE id = ${run.id}`);
  if (row === undefined) await removeGone(engine, run);
}

/**
 * Ends an unwanted run and records the reason. Reads the export again: it may have been deleted or
 * changed since the run was claimed.
 */
export async function endCancelled(engine: Engine, run: ClaimedRun): Promise<void> {
  const held = await findHeld(engine, run);
  if (held === undefined) throw new LostRunError();
  const message = held.is_deleted
    ? 'The export was deleted.'
    : held.is_changed
      ? 'The export was changed; its new version plans this interval again.'
      : 'The run was cancelled.';
  await endRun(engine, run, { status: 'Cancelled', code: 'cancelled', message });
}

/** Returns the code of docs/errors.md and the sentence for a failed attempt. */
export function toldOf(error: unknown): { code: string; message: string } {
  if (error instanceof KnownError) return { code: error.code, message: error.message };
  if (isOutOfFiles(error))
    return { code: 'open_files_exhausted', message: `${out_of_files} Sluice retries the run.` };
  return {
    code: 'internal',
    message: 'The attempt failed; the server log has the reason. Sluice retries.',
  };
}

/** Returns the message of an end, with advice if the destination may show the delivery. */
export function inDoubt(message: string, isCommitting: boolean): string {
  return isCommitting
    ? `${message} The destination may or may not show this delivery; retry the run to find out.`
    : message;
}
