import type { EndOfRun, Sink, SliceOutcome } from '../../model/destination/destination.ts';
import sql from 'sql-template-tag';
import { NonRetryableError } from '../../model/destination/errors.ts';
import { break_offs_max, broke_off_message } from '../runs/worker_crashes.ts';
import { caughtUp } from '../../../platform/clickhouse/topology/caught_up.ts';
import { counted } from '../../../platform/counted.ts';
import type { Attributes, Span } from '../../../platform/tracing/span.ts';
import { destinationDeps } from '../engine.ts';
import type { Engine } from '../engine.ts';
import { row_tables } from '../../model/removals/delete_rows.ts';
import { receiptText } from '../runs/run_input.ts';
import { beginCommit } from '../runs/progress.ts';
import { endRun } from '../runs/end_runs.ts';
import type { Receipt } from '../runs/receipt.ts';
import { recordsIn } from '../../destinations/sql_tables/staged_sink.ts';
import type { ClaimedRun, ReplacedReceipt, StoredSlice } from '../../model/run.ts';
import { StallWatch } from './stall.ts';
import { settingAside } from './setting_aside.ts';
import { openStepClock } from './step_clock.ts';
import { openAttempt, say } from './attempt.ts';
import type { Attempt, WatchedAttempt } from './attempt.ts';
import { requireNewest, requireReplacement, requireWhole } from './replacing.ts';
import { sayLarge, sayRemoved } from './left_out.ts';
import { requireKeys } from './require_keys.ts';
import { tellSchemaChange } from './schema_drift.ts';
import { countUnfit, sayNewColumns, sayUnfit } from './unfit_values.ts';
import { slicesOf } from './slices_of.ts';
import { writeSlices } from './write_slices.ts';
import { refuseLoss } from './table_gone.ts';
import { cleanUp, abandonAttempt } from './clean_up.ts';
import { endCancelled, inDoubt, settle } from './settle_failure.ts';

/**
 * Works on a claimed run until it ends, fails temporarily, or the signal stops it (its reason is a
 * `StopReason`). Guarantees: a run becomes Completed only after every counted row was written and
 * the destination has committed. Every other end is recorded with a sentence for the user. After a
 * shutdown or a kill, a run continues at the first unsafe slice. A run that crashes its process
 * each time is given up after `break_offs_max` crashes. Calls `onStall` when the destination shows
 * no progress for a while, and when it continues.
 */
export async function executeRun(
  engine: Engine,
  run: ClaimedRun,
  signal: AbortSignal,
  onStall: (isStalled: boolean) => void = () => undefined,
): Promise<void> {
  if (run.break_offs >= break_offs_max) return giveUp(engine, run);
  const work = async (span?: Span) => {
    const clock = openStepClock(run);
    try {
      const attempt = openAttempt(engine, run, signal, clock);
      if (span?.trace.is_sampled === true)
        await say(attempt, 'DEBUG', `Trace ${span.trace.trace_id}.`);
      await (isUnwanted(run)
        ? cancel(attempt)
        : caughtUp(engine.clickhouse, row_tables, () => deliver(attempt, onStall)));
    } catch (error) {
      clock.stop();
      span?.fail(error);
      await settle(engine, run, error, signal);
    }
    if (span !== undefined) noteSteps(span, run);
  };
  await (engine.tracer?.during('run', attributesOf(run), work) ?? work());
}

function attributesOf(run: ClaimedRun): Attributes {
  return {
    'sluice.run_id': run.id,
    'sluice.batch_export_id': run.batch_export_id,
    'sluice.team_id': run.team_id,
    'sluice.attempt': run.attempt,
    'sluice.model': run.model,
    'sluice.destination': run.destination_type,
  };
}

/**
 * Records the duration of the attempt's steps in its span: reading and sending of a slice share one
 * span.
 */
function noteSteps({ attributes }: Span, run: ClaimedRun): void {
  for (const [step, value] of Object.entries(run.steps.at(-1) ?? {}))
    if (step.endsWith('_ms') && typeof value === 'number') attributes[`sluice.${step}`] = value;
}

function isUnwanted(run: ClaimedRun): boolean {
  return (
    run.committing_at === null &&
    (run.cancel_requested_at !== null || run.is_deleted || run.revision !== run.export_revision)
  );
}

async function deliver(attempt: Attempt, onStall: (isStalled: boolean) => void): Promise<void> {
  const { engine, run, clock } = attempt;
  clock.enter('counted');
  await requireNewest(attempt);
  const slices = await slicesOf(attempt);
  const total = slices.reduce((sum, slice) => sum + slice.records, 0);
  await say(
    attempt,
    'INFO',
    `Attempt ${run.attempt}: ${counted(total, 'row')} in ${counted(slices.length, 'slice')}.`,
  );
  await sayRemoved(attempt);
  await sayLarge(attempt);
  await sayNewColumns(attempt);
  await tellSchemaChange(attempt);
  requireWhole(run, total);
  requireReplacement(attempt, total);
  clock.enter(slices.length === 0 ? 'committed' : 'sent');
  const showsNothing = slices.length === 0 && attempt.delivery.generation === undefined;
  if (showsNothing && run.replaces === null) {
    // Without rows, the destination is not even contacted, and the receipt says so.
    if (!(await beginCommit(engine, run, receiptText(engine, run, attempt))))
      return cancel(attempt);
    return complete(attempt);
  }
  const watch = new StallWatch(engine, run, attempt.signal, onStall);
  const watched = { ...attempt, signal: watch.signal, watch };
  const unfit = countUnfit(attempt, watch.signal);
  // Awaited after the rows, whose own error takes precedence.
  unfit.catch(() => undefined);
  try {
    await settingAside(watched, total, (chosen) => open(chosen, slices, unfit));
  } finally {
    await watch.close();
  }
}

async function open(
  attempt: WatchedAttempt,
  slices: StoredSlice[],
  unfit: ReturnType<typeof countUnfit>,
): Promise<void> {
  const { engine, definition, config, delivery, watch } = attempt;
  if (slices.length > 0)
    await watch.during('looking for rows without a key', () => requireKeys(attempt));
  const deps = {
    ...destinationDeps(engine, watch.signal, watch.noteProgress),
    warn: watch.warnOnce,
    refuseLoss: refuseLoss(engine, attempt.run),
  };
  const sink = await watch.during('opening the delivery', () =>
    definition.open(config, delivery, deps),
  );
  try {
    await deliverTo(attempt, sink, slices, unfit);
  } finally {
    await watch.during('closing the delivery', () => sink.close());
  }
}

async function deliverTo(
  attempt: WatchedAttempt,
  sink: Sink,
  slices: StoredSlice[],
  unfit: ReturnType<typeof countUnfit>,
): Promise<void> {
  const { engine, run, clock, watch } = attempt;
  // The delivery to replace stays visible all the time; a repeated attempt shows all finished
  // slices once more.
  if (
    run.receipt !== null &&
    run.replaces === null &&
    (await watch.during('looking for the receipt of the delivery', () => sink.isCommitted()))
  )
    return complete(attempt);
  if (run.replaces !== null) await requireReplaceable(attempt, run.replaces, sink);
  const outcomes = await writeSlices(attempt, sink, slices);
  await sayUnfit(attempt, await unfit);
  requireReplacement(attempt, recordsIn(outcomes));
  const text =
    run.committing_at !== null && run.receipt !== null && sameOutcomes(run.receipt, outcomes)
      ? run.receipt
      : receiptText(engine, run, attempt, { slices, outcomes });
  clock.enter('committed');
  if (!(await beginCommit(engine, run, text))) {
    await watch.during('removing the delivery', () => sink.abort(outcomes));
    return endCancelled(engine, run);
  }
  let has_ended = false;
  const end: EndOfRun = (show) => complete(attempt, show).then(() => void (has_ended = true));
  await watch.during('showing the delivery', () =>
    sink.commit(outcomes, { name: 'manifest', text }, end),
  );
  if (!has_ended) await complete(attempt);
}

/**
 * Refuses to write rows to a table that has lost the receipt of the delivery to replace: its rows
 * may still be there and would be duplicated.
 */
async function requireReplaceable(
  { engine, definition, delivery, watch }: WatchedAttempt,
  { run_id }: ReplacedReceipt,
  sink: Sink,
): Promise<void> {
  // A repair removes the remaining rows first, so it needs no receipt.
  if (definition.erases !== 'by_key' || delivery.repairs !== undefined) return;
  const isThere = await watch.during('looking for the receipt of the delivery', () =>
    sink.isCommitted(),
  );
  if (isThere) return;
  const replaced = await engine.db.row(
    sql`SELECT 1 FROM batch_export_runs WHERE id = ${run_id} AND status = 'Completed'`,
  );
  if (replaced !== undefined)
    throw new NonRetryableError(
      'receipt_missing',
      'The destination no longer has a receipt of this delivery, so nothing was changed there. ' +
        'Remove the rows yourself.',
    );
}

function complete({ engine, run, clock }: Attempt, show?: Parameters<EndOfRun>[0]): Promise<void> {
  clock.stop();
  return endRun(engine, run, { status: 'Completed' }, show);
}

function sameOutcomes(receipt: string, outcomes: SliceOutcome[]): boolean {
  const stored = JSON.parse(receipt) as Pick<Receipt, 'slices'>;
  return (
    stored.slices.length === outcomes.length &&
    outcomes.every(
      ({ sha256, records }, index) =>
        sha256 === stored.slices[index]!.sha256 && records === stored.slices[index]!.records,
    )
  );
}

/** Aborts a delivery that has not begun to commit, then records the end. */
async function cancel(attempt: Attempt): Promise<void> {
  await abandonAttempt(attempt);
  await endCancelled(attempt.engine, attempt.run);
}

/**
 * Ends a run that crashes its process. Tries once to remove the run's leftovers at the destination.
 * If that crashes the process too, it is not repeated.
 */
async function giveUp(engine: Engine, run: ClaimedRun): Promise<void> {
  if (run.committing_at === null && run.break_offs === break_offs_max) await cleanUp(engine, run);
  if (isUnwanted(run)) return endCancelled(engine, run);
  return endRun(engine, run, {
    status: 'FailedRetryable',
    code: 'broke_off',
    message: inDoubt(broke_off_message, run.committing_at !== null),
  });
}
