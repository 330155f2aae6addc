import { KnownError } from '../../model/destination/errors.ts';
import { rejectedRowsMax } from '../../model/destination/rejected_rows.ts';
import { findHeld, resetProgress, takeCommitBack } from '../runs/progress.ts';
import { say } from './attempt.ts';
import type { WatchedAttempt } from './attempt.ts';
import { isRefused } from './settle_failure.ts';

/**
 * Delivers at full speed. If the destination refuses rows for their content and the export sets
 * such rows aside, it delivers everything again without them. Good rows cost nothing extra, and one
 * transaction shows the result. `records` is the number of rows.
 */
export async function settingAside(
  attempt: WatchedAttempt,
  records: number,
  deliver: (attempt: WatchedAttempt) => Promise<void>,
): Promise<void> {
  try {
    return await deliver(attempt);
  } catch (error) {
    if (!isForOthers(attempt, error)) throw error;
    await takeBack(attempt, error);
    await say(
      attempt,
      'WARNING',
      `The destination refused a row: ${error.message} The rows are written once more, and those ` +
        'that it refuses are set aside.',
    );
    const rejects = { rows_max: rejectedRowsMax(attempt.run.rejection!, records) };
    await deliver({ ...attempt, delivery: { ...attempt.delivery, rejects } });
  }
}

/** Returns true if the other rows can succeed without the refused ones. */
function isForOthers(
  { run, definition, config, delivery, signal }: WatchedAttempt,
  error: unknown,
): error is KnownError {
  return (
    error instanceof KnownError &&
    error.is_of_row &&
    !signal.aborted &&
    (run.replaces === null || delivery.repairs !== undefined) &&
    run.rejection?.rejected_rows === 'set_aside' &&
    definition.setAsideFault !== undefined &&
    definition.setAsideFault(config) === undefined
  );
}

/** A constraint that is checked at the end refuses the commit: nothing is visible then. */
async function takeBack({ engine, run }: WatchedAttempt, error: KnownError): Promise<void> {
  const held = await findHeld(engine, run);
  if (held?.is_committing === true && isRefused(run, error)) await takeCommitBack(engine, run);
  await resetProgress(engine, run, []);
}
