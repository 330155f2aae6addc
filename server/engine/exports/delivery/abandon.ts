import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { KnownError, RetryableError } from '../../model/destination/errors.ts';
import type { Sink, SliceOutcome } from '../../model/destination/destination.ts';
import type { Engine } from '../engine.ts';
import { writeRunLog } from '../../model/run_log.ts';
import { listSlices } from '../runs/progress.ts';
import type { ClaimedRun } from '../../model/run.ts';

const timeout_ms = 60_000;
/** Pauses between tries at a destination that does not answer for a moment, as during a restart. */
const pauses_ms = [500, 1_000, 2_000, 4_000, 8_000];

/**
 * Removes everything uncommitted that a run has left at its destination. Retries a destination that
 * is unreachable for some seconds. Leftovers that cannot be removed within a minute stay there,
 * invisible, and the run's log says so. `open` opens the run's delivery for work that the signal
 * ends.
 */
export async function abandon(
  engine: Engine,
  run: ClaimedRun,
  open: (signal: AbortSignal) => Promise<Sink>,
): Promise<void> {
  const outcomes = await outcomesOf(engine, run);
  const signal = AbortSignal.timeout(timeout_ms);
  const pauses = pauses_ms.values();
  for (;;) {
    try {
      return await removeParts(engine, run, await open(signal), outcomes);
    } catch (error) {
      const next =
        error instanceof RetryableError && !signal.aborted ? pauses.next().value : undefined;
      if (next === undefined) return leaveParts(engine, run, error);
      await pause(next);
    }
  }
}

async function removeParts(
  engine: Engine,
  run: ClaimedRun,
  sink: Sink,
  outcomes: SliceOutcome[],
): Promise<void> {
  try {
    // Checked as late as possible: a fenced-off worker must not remove what the new one writes.
    if (await isOurs(engine, run)) await sink.abort(outcomes);
  } finally {
    await sink.close();
  }
}

async function leaveParts(
  engine: Engine,
  { id: run_id, batch_export_id }: ClaimedRun,
  error: unknown,
): Promise<void> {
  engine.log.warn({ err: error, run_id }, 'could not clean up at the destination');
  const isTold = error instanceof KnownError;
  const reason = isTold ? error.message : "The server's log has the reason.";
  const message =
    'Unfinished and invisible remains of this run at the destination could not be removed. ' +
    `${reason} A retry of the run uses or removes them.`;
  await writeRunLog(engine.db, { batch_export_id, run_id, level: 'WARNING', message });
}

/**
 * Checks whether a delivery exists whose commit got no answer. False: it does not exist and never
 * will, because its uncommitted parts were removed. Undefined: the destination cannot tell.
 */
export async function lookForDelivery(
  engine: Engine,
  run: ClaimedRun,
  settlesByAbort: boolean,
  open: (signal: AbortSignal) => Promise<Sink>,
): Promise<boolean | undefined> {
  const signal = AbortSignal.timeout(timeout_ms);
  try {
    if (await isThere(await open(signal))) return true;
    if (!settlesByAbort || !(await isOurs(engine, run))) return undefined;
    const sink = await open(signal);
    await sink.abort(await outcomesOf(engine, run)).finally(() => sink.close());
    return await isThere(await open(signal));
  } catch (error) {
    engine.log.warn({ err: error, run_id: run.id }, 'could not look for a delivery in doubt');
    return undefined;
  }
}

function isThere(sink: Sink): Promise<boolean> {
  return sink.isCommitted().finally(() => sink.close());
}

async function outcomesOf(engine: Engine, run: Pick<ClaimedRun, 'id'>): Promise<SliceOutcome[]> {
  const slices = await listSlices(engine, run.id);
  return slices.flatMap(({ outcome }) => (outcome === null ? [] : [outcome]));
}

/**
 * Returns true while no other worker has claimed the run; also if its row is gone, because nobody
 * else cleans up then.
 */
async function isOurs(engine: Engine, run: ClaimedRun): Promise<boolean> {
  const row = await engine.db.row<{ attempt: number }>(
    sql`SELECT attempt FROM batch_export_runs WHERE id = ${run.id}`,
  );
  return row === undefined || row.attempt === run.attempt;
}
