import sql from 'sql-template-tag';
import type { Sink, SliceOutcome } from '../destination/destination.ts';
import { NonRetryableError, RetryableError } from '../destination/destination.ts';
import { abandon } from './abandon.ts';
import { break_offs_max, broke_off_message } from '../runs/worker_crashes.ts';
import { counted } from '../../platform/counted.ts';
import { destinationDeps } from '../engine.ts';
import type { Engine } from '../engine.ts';
import { encodeStage } from '../formats/encode_stage.ts';
import { openOrder, receiptText } from '../runs/run_input.ts';
import type { Order } from '../runs/run_input.ts';
import type { SizeBound } from '../source/measured_cut.ts';
import { noteInRunLog } from '../run_log.ts';
import type { LogLevel } from '../run_log.ts';
import { sayChanged } from '../formats/marks.ts';
import {
  beginCommit,
  endRun,
  listSlices,
  resetProgress,
  retryLater,
  storeProgress,
  storeSlices,
  takeCommitBack,
} from '../runs/runs.ts';
import { LostRunError, attempts_max } from '../run.ts';
import type { ClaimedRun, StoredSlice } from '../run.ts';
import { SilenceWatch } from './stall.ts';
import { openReading } from '../source/source_query.ts';
import type { Reading } from '../source/source_query.ts';
import { cutSlicesOnce } from '../source/recent_cuts.ts';
import { hasDigest, withDigest } from './slice_digest.ts';
import { streamSliceOnce } from '../source/recent_slices.ts';

/**
 * Why a run's signal was aborted: by its user, because its row was deleted, because another worker
 * has it, or because this process stops.
 */
export type StopReason = 'cancelled' | 'gone' | 'lost' | 'shutdown';

/** Everything that one attempt works with. */
type Attempt = Order & {
  engine: Engine;
  run: ClaimedRun;
  signal: AbortSignal;
  /**
   * Opened when it is needed first: a delivery that is there already is settled without the
   * analytics store.
   */
  reading?: Promise<Reading>;
};

/**
 * An attempt whose destination is open; `signal` ends it also when the destination is silent for
 * too long.
 */
type WatchedAttempt = Attempt & { watch: SilenceWatch };

/**
 * Works on a claimed run until it ends, fails for now, or is stopped by the signal (whose reason is
 * a `StopReason`). Guarantees: the run is recorded as Completed only after every counted row was
 * written and the destination has committed; each other end is recorded with a sentence for the
 * user; a run stopped by shutdown or a kill goes on where it was, at the first slice that is not
 * safe; one that takes its process down each time is given up after `break_offs_max` times.
 * `onSilence` is told when the destination shows no progress for a while, and when it goes on.
 */
export async function executeRun(
  engine: Engine,
  run: ClaimedRun,
  signal: AbortSignal,
  onSilence: (isSilent: boolean) => void = () => undefined,
): Promise<void> {
  if (run.break_offs >= break_offs_max) return giveUp(engine, run);
  try {
    const attempt = openAttempt(engine, run, signal);
    await (isUnwanted(run) ? cancel(attempt) : deliver(attempt, onSilence));
  } catch (error) {
    await settle(engine, run, error, signal);
  }
}

function isUnwanted(run: ClaimedRun): boolean {
  return (
    run.committing_at === null &&
    (run.cancel_requested_at !== null || run.is_deleted || run.revision !== run.export_revision)
  );
}

function openAttempt(engine: Engine, run: ClaimedRun, signal: AbortSignal): Attempt {
  return { engine, run, ...openOrder(engine, run), signal };
}

async function deliver(attempt: Attempt, onSilence: (isSilent: boolean) => void): Promise<void> {
  const { engine, run, definition, config } = attempt;
  const slices = await slicesOf(attempt);
  const total = slices.reduce((sum, slice) => sum + slice.records, 0);
  await say(
    attempt,
    'INFO',
    `Attempt ${run.attempt}: ${counted(total, 'row')} in ${counted(slices.length, 'slice')}.`,
  );
  if (slices.length === 0) {
    // Nothing to deliver: the destination is not even contacted, the receipt says so.
    if (
      !(await beginCommit(engine, run, receiptText(engine, run, attempt, { slices, outcomes: [] })))
    )
      return cancel(attempt);
    return endRun(engine, run, { status: 'Completed' });
  }
  const watch = new SilenceWatch(engine, run, attempt.signal, onSilence);
  try {
    const deps = destinationDeps(engine, watch.signal, watch.noteProgress);
    const sink = await watch.during('opening the delivery', () =>
      definition.open(config, attempt.delivery, deps),
    );
    try {
      await deliverTo({ ...attempt, signal: watch.signal, watch }, sink, slices);
    } finally {
      await watch.during('closing the delivery', () => sink.close());
    }
  } finally {
    await watch.close();
  }
}

async function deliverTo(
  attempt: WatchedAttempt,
  sink: Sink,
  slices: StoredSlice[],
): Promise<void> {
  const { engine, run, watch } = attempt;
  if (
    run.receipt !== null &&
    (await watch.during('asking whether the delivery is there', () => sink.isCommitted()))
  )
    return endRun(engine, run, { status: 'Completed' });
  const outcomes = await writeSlices(attempt, sink, slices);
  const text =
    run.committing_at !== null && run.receipt !== null && sameOutcomes(run.receipt, outcomes)
      ? run.receipt
      : receiptText(engine, run, attempt, { slices, outcomes });
  if (!(await beginCommit(engine, run, text))) {
    await watch.during('removing the delivery', () => sink.abort(outcomes));
    return endCancelled(attempt);
  }
  await watch.during('showing the delivery', () =>
    sink.commit(outcomes, { name: 'manifest', text }),
  );
  await endRun(engine, run, { status: 'Completed' });
}

async function slicesOf(attempt: Attempt): Promise<StoredSlice[]> {
  const { engine, run } = attempt;
  if (run.records_total_count !== null) return listSlices(engine, run.id);
  const slices =
    run.selection.length === 0
      ? []
      : await cutSlicesOnce(engine, await readingOf(attempt), sizeBoundOf(attempt), attempt.signal);
  await storeSlices(engine, run, slices);
  return slices;
}

function sizeBoundOf({ definition, config, delivery }: Attempt): SizeBound | undefined {
  const bytes_max = definition.sliceBytes(config);
  if (bytes_max === undefined) return undefined;
  return { bytes_max, encoding: definition.encoding(config), columns: delivery.columns };
}

function readingOf(attempt: Attempt): Promise<Reading> {
  attempt.reading ??= openReading(attempt.engine, attempt.run);
  return attempt.reading;
}

async function writeSlices(
  attempt: WatchedAttempt,
  sink: Sink,
  slices: StoredSlice[],
): Promise<SliceOutcome[]> {
  const { engine, run, definition } = attempt;
  const known = slices.flatMap((slice) => (slice.outcome === null ? [] : [slice.outcome]));
  const surviving = await attempt.watch.during('looking for what earlier attempts wrote', () =>
    sink.recover(known),
  );
  if (surviving.length < known.length) await resetProgress(engine, run, surviving);
  const outcomes = new Map(surviving.map((outcome) => [outcome.number, outcome]));
  for (const slice of slices) {
    if (outcomes.has(slice.number)) continue;
    attempt.signal.throwIfAborted();
    const started = performance.now();
    const { outcome, changed } = await writeSlice(attempt, sink, slice, slices.length);
    outcomes.set(slice.number, outcome);
    await storeProgress(engine, run, [...outcomes.values()]);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    await say(
      attempt,
      'INFO',
      `Slice ${slice.number + 1} of ${slices.length}: ${counted(outcome.records, 'row')}, ` +
        `${counted(outcome.bytes, 'byte')} in ${seconds} s.`,
    );
    if (changed !== undefined)
      await say(attempt, 'WARNING', `Slice ${slice.number + 1} of ${slices.length}: ${changed}`);
    engine.metrics.records_exported.inc({ destination: definition.type }, outcome.records);
    engine.metrics.bytes_exported.inc({ destination: definition.type }, outcome.bytes);
  }
  return slices.map((slice) => outcomes.get(slice.number)!);
}

async function writeSlice(
  attempt: WatchedAttempt,
  sink: Sink,
  slice: StoredSlice,
  total: number,
): Promise<{ outcome: SliceOutcome; changed: string | undefined }> {
  const { engine, definition, config, delivery, signal } = attempt;
  const encoding = definition.encoding(config);
  // Ends the query as well when the sink fails first.
  const reading = new AbortController();
  const reads = {
    reading: await readingOf(attempt),
    slice,
    columns: delivery.columns,
    encoding,
    signal: AbortSignal.any([signal, reading.signal]),
  };
  const streamed = await streamSliceOnce(
    engine,
    reads.reading,
    slice,
    delivery.columns,
    encoding,
    reads.signal,
  );
  const digested = hasDigest(delivery, definition.column_set)
    ? withDigest(engine, streamed, reads)
    : undefined;
  const source = digested?.source ?? streamed;
  let isRead = false;
  source.once('end', () => (isRead = true));
  const stage = encodeStage(encoding);
  const bytes = stage.pipeline(source);
  // A sink that waits for its place has not begun to read: without a listener the stop would end
  // the process. Whoever reads is told by the stream itself.
  bytes.on('error', () => undefined);
  const stop = () =>
    bytes.destroy(
      signal.reason instanceof Error ? signal.reason : new Error('The run was stopped.'),
    );
  signal.addEventListener('abort', stop, { once: true });
  try {
    const given = {
      number: slice.number,
      records: slice.records,
      ...(slice.number === total - 1 ? { is_last: true as const } : {}),
    };
    // What has been made and not been taken waits for the destination; where nothing waits and more
    // is to come, the destination waits for the source.
    const flow = {
      taken: () => stage.passed() - bytes.readableLength,
      isStarved: () => !isRead && bytes.readableLength === 0,
    };
    const written = await attempt.watch.during(
      `writing slice ${slice.number + 1} of ${total}`,
      () => sink.write(given, bytes),
      flow,
    );
    const counted = stage.finish();
    if (counted.records !== slice.records) {
      throw new RetryableError(
        'count_mismatch',
        `Slice ${slice.number} had ${slice.records} rows when it was counted and ` +
          `${counted.records} when it was read; it is read again.`,
      );
    }
    const digest = await digested?.digest();
    return {
      outcome: {
        number: slice.number,
        ...written,
        ...counted,
        ...(digest === undefined ? {} : { digest }),
      },
      changed: sayChanged(stage.changed()),
    };
  } finally {
    signal.removeEventListener('abort', stop);
    if (!isRead) reading.abort();
  }
}

async function say({ engine, run }: Attempt, level: LogLevel, message: string): Promise<void> {
  await noteInRunLog(engine.db, {
    batch_export_id: run.batch_export_id,
    run_id: run.id,
    level,
    message,
  });
}

function sameOutcomes(receipt: string, outcomes: SliceOutcome[]): boolean {
  const stored = JSON.parse(receipt) as { slices: { sha256: string }[] };
  return (
    stored.slices.length === outcomes.length &&
    outcomes.every((outcome, index) => outcome.sha256 === stored.slices[index]!.sha256)
  );
}

/**
 * Takes a delivery back that has not begun to commit: removes what is at the destination, then
 * records the end.
 */
async function cancel(attempt: Attempt): Promise<void> {
  await abandonAttempt(attempt);
  await endCancelled(attempt);
}

/**
 * Ends a run that takes its process down. What it left at the destination is removed once; a
 * removal that takes the process down as well is not repeated.
 */
async function giveUp(engine: Engine, run: ClaimedRun): Promise<void> {
  if (run.committing_at === null && run.break_offs === break_offs_max) await cleanUp(engine, run);
  if (isUnwanted(run)) return endCancelled({ engine, run });
  return endRun(engine, run, {
    status: 'FailedRetryable',
    code: 'broke_off',
    message: inDoubt(broke_off_message, run.committing_at !== null),
  });
}

async function endCancelled({ engine, run }: Pick<Attempt, 'engine' | 'run'>): Promise<void> {
  const message = run.is_deleted
    ? 'The export was deleted.'
    : run.revision === run.export_revision
      ? 'The run was cancelled.'
      : 'The export was changed; its new version plans this interval again.';
  await endRun(engine, run, { status: 'Cancelled', code: 'cancelled', message });
}

async function settle(
  engine: Engine,
  run: ClaimedRun,
  error: unknown,
  signal: AbortSignal,
): Promise<void> {
  if (signal.reason === 'gone') return removeGone(engine, run);
  // A row that is gone is seen by the next statement before the signal tells of it.
  if (error instanceof LostRunError && (await isGone(engine, run))) return removeGone(engine, run);
  if (error instanceof LostRunError || signal.reason === 'lost') return;
  if (signal.reason === 'shutdown') throw error;
  try {
    await recordFailure(engine, run, error, signal);
  } catch (recordError) {
    if (!(recordError instanceof LostRunError)) throw recordError;
  }
}

async function recordFailure(
  engine: Engine,
  run: ClaimedRun,
  error: unknown,
  signal: AbortSignal,
): Promise<void> {
  const { code, message } = explain(error);
  engine.log.warn({ err: error, run_id: run.id, attempt: run.attempt, code }, 'attempt failed');
  const state = await findHeld(engine, run);
  if (state === undefined) return;
  if (state.is_committing && isRefused(run, error)) {
    await takeCommitBack(engine, run);
    state.is_committing = false;
  }
  const isFinal = error instanceof NonRetryableError;
  const isCancelled =
    (signal.reason === 'cancelled' || run.cancel_requested_at !== null) && !state.is_committing;
  if (!isCancelled && !isFinal && run.failures + 1 < attempts_max)
    return retryLater(engine, run, { code, message });
  if (!state.is_committing) await cleanUp(engine, run);
  if (isCancelled)
    return endRun(engine, run, {
      status: 'Cancelled',
      code: 'cancelled',
      message: 'The run was cancelled.',
    });
  return endRun(engine, run, {
    status: isFinal ? 'Failed' : 'FailedRetryable',
    code,
    message: inDoubt(message, state.is_committing),
  });
}

/**
 * An earlier attempt that had begun to commit may still be at it, whatever the destination says to
 * this one.
 */
function isRefused(run: ClaimedRun, error: unknown): boolean {
  return (
    run.committing_at === null &&
    (error instanceof NonRetryableError || error instanceof RetryableError) &&
    error.is_certain
  );
}

function inDoubt(message: string, isCommitting: boolean): string {
  return isCommitting
    ? `${message} The destination may or may not show this delivery; retry the run to settle it.`
    : message;
}

/**
 * What a run began whose row is gone. The row of what it left is removed last: until then others
 * would do this after a kill.
 */
async function removeGone(engine: Engine, run: ClaimedRun): Promise<void> {
  await cleanUp(engine, run);
  await engine.db.run(sql`DELETE FROM batch_export_leftovers WHERE run_id = ${run.id}`);
}

async function isGone(engine: Engine, run: ClaimedRun): Promise<boolean> {
  return (
    (await engine.db.row(sql`SELECT 1 FROM batch_export_runs WHERE id = ${run.id}`)) === undefined
  );
}

/**
 * Whether the run is still in the hands of this worker, and whether its commit has begun. A worker
 * that was fenced off must not touch the destination any more.
 */
function findHeld(
  engine: Engine,
  run: ClaimedRun,
): Promise<{ is_committing: boolean } | undefined> {
  return engine.db.row<{ is_committing: boolean }>(sql`
    SELECT committing_at IS NOT NULL AS is_committing FROM batch_export_runs WHERE id = ${run.id}
      AND attempt = ${run.attempt} AND status = 'Running'`);
}

/** Removes what a run has left at its destination and not committed, as `abandon` does. */
export async function cleanUp(engine: Engine, run: ClaimedRun): Promise<void> {
  let attempt: Attempt;
  try {
    attempt = openAttempt(engine, run, new AbortController().signal);
  } catch {
    // A destination that this server does not know or cannot sign in to: there is nobody to ask for
    // the removal.
    return;
  }
  await abandonAttempt(attempt);
}

function abandonAttempt({ engine, run, definition, config, delivery }: Attempt): Promise<void> {
  return abandon(engine, run, (signal) =>
    definition.open(config, delivery, destinationDeps(engine, signal)),
  );
}

function explain(error: unknown): { code: string; message: string } {
  if (error instanceof NonRetryableError || error instanceof RetryableError)
    return { code: error.code, message: error.message };
  return {
    code: 'internal',
    message: 'The attempt failed for a reason that the server logged; it is tried again.',
  };
}
