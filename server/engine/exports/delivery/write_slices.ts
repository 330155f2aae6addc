import type { Readable } from 'node:stream';
import type { Delivery, Sink, SliceOutcome } from '../../model/destination/destination.ts';
import { reasonsOf, rejectedKey } from '../../model/destination/rejected_rows.ts';
import type { RejectedRow } from '../../model/destination/rejected_rows.ts';
import type { SlicePartition } from '../../model/destination/partition.ts';
import { withoutRows } from '../../destinations/contents/digest.ts';
import { sumWithoutRows } from '../../destinations/sql_tables/comparing/row_sum.ts';
import { keyColumn } from '../../destinations/sql_tables/layout.ts';
import { RetryableError } from '../../model/destination/errors.ts';
import { counted } from '../../../platform/counted.ts';
import { inSpan } from '../../../platform/tracing/span.ts';
import { encodeStage } from '../../destinations/formats/encode_stage.ts';
import { sayChanged } from '../../destinations/formats/marks.ts';
import { resetProgress, storeProgress } from '../runs/progress.ts';
import type { StoredSlice } from '../../model/run.ts';
import type { Encoding } from '../../model/destination/encoding.ts';
import { digestSlice, hasDigest } from './slice_digest.ts';
import type { SliceDigest } from './slice_digest.ts';
import { streamSliceOnce } from '../source/recent_slices.ts';
import { streamSlice } from '../source/source.ts';
import { inOrder } from './in_order.ts';
import type { Flow } from './stall.ts';
import { followSource, shareClock } from './step_clock.ts';
import type { StepClock } from './step_clock.ts';
import { isFirstReading, readingOf, say } from './attempt.ts';
import type { WatchedAttempt } from './attempt.ts';
import { requireReplacedBytes } from './replacing.ts';

/**
 * Writes the slices that no earlier attempt made safe, two at a time where the sink allows it.
 * Stores each in order when it ends, and returns all outcomes in order.
 */
export async function writeSlices(
  attempt: WatchedAttempt,
  sink: Sink,
  slices: StoredSlice[],
): Promise<SliceOutcome[]> {
  const { engine, run } = attempt;
  const known = slices.flatMap((slice) => (slice.outcome === null ? [] : [slice.outcome]));
  const surviving = await attempt.watch.during('looking for what earlier attempts wrote', () =>
    sink.recover(known),
  );
  if (surviving.length < known.length) await resetProgress(engine, run, surviving);
  const outcomes = new Map(surviving.map((outcome) => [outcome.number, outcome]));
  const total = slices.length;
  const clockOfSlice = shareClock(attempt.clock);
  await inOrder({
    items: slices.filter(({ number }) => !outcomes.has(number)),
    abreast_max: sink.writes_abreast === true ? 2 : 1,
    begin: (slice) => {
      attempt.signal.throwIfAborted();
      return beginSlice(attempt, sink, slice, { total, clock: clockOfSlice() });
    },
    wait: async (slice, { written, flow, started }) => {
      const doing = `writing slice ${slice.number + 1} of ${total}`;
      const { outcome, ...told } = await attempt.watch.during(doing, () => written, flow);
      outcomes.set(slice.number, outcome);
      requireReplacedBytes(attempt.delivery, bytesIn([...outcomes.values()]));
      await storeProgress(engine, run, [...outcomes.values()]);
      await saySlice(attempt, { outcome, total, started, ...told });
    },
    end: (begun) => {
      attempt.watch.stop();
      return attempt.watch.during('ending the slices in progress', () =>
        Promise.allSettled(begun.map(({ written }) => written)),
      );
    },
  });
  return slices.map((slice) => outcomes.get(slice.number)!);
}

/** A written slice, with the rows that its destination refused, and its changed values. */
type Written = { outcome: SliceOutcome; refused: RejectedRow[]; changed: string | undefined };

async function saySlice(
  attempt: WatchedAttempt,
  { outcome, refused, changed, total, started }: Written & Record<'total' | 'started', number>,
): Promise<void> {
  const { engine, definition } = attempt;
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const slice = `Slice ${outcome.number + 1} of ${total}`;
  await say(
    attempt,
    'INFO',
    `${slice}: ${counted(outcome.records, 'row')}, ${counted(outcome.bytes, 'byte')} in ` +
      `${seconds} s.`,
  );
  if (refused.length > 0)
    await say(
      attempt,
      'WARNING',
      `${slice}: the destination refused ${counted(refused.length, 'row')}, now set aside. ` +
        reasonsOf(refused),
    );
  if (changed !== undefined) await say(attempt, 'WARNING', `${slice}: ${changed}`);
  engine.metrics.records_exported.inc({ destination: definition.type }, outcome.records);
  engine.metrics.bytes_exported.inc({ destination: definition.type }, outcome.bytes);
}

function bytesIn(outcomes: SliceOutcome[]): number {
  return outcomes.reduce((sum, { bytes }) => sum + bytes, 0);
}

type Way = { total: number; clock: Pick<StepClock, 'enter'> };

/** Begins to write a slice. Its flow counts no time that the source takes. */
function beginSlice(
  attempt: WatchedAttempt,
  sink: Sink,
  slice: StoredSlice,
  way: Way,
): { written: Promise<Written>; flow: Flow; started: number } {
  const waiting: Flow = { taken: () => 0, isStarved: () => true };
  let flow = waiting;
  const written = inSpan(
    'slice',
    { 'sluice.slice': slice.number, 'sluice.records': slice.records },
    () => writeSlice(attempt, sink, slice, way, (given) => void (flow = given ?? waiting)),
  );
  return {
    written,
    flow: { taken: () => flow.taken(), isStarved: () => flow.isStarved() },
    started: performance.now(),
  };
}

/** Calls `onFlow` when the destination begins to read the slice, and without one at the end. */
async function writeSlice(
  attempt: WatchedAttempt,
  sink: Sink,
  slice: StoredSlice,
  { total, clock }: Way,
  onFlow: (flow?: Flow) => void,
): Promise<Written> {
  const { signal } = attempt;
  clock.enter('read');
  // Ends the query as well if the sink fails first.
  const reading = new AbortController();
  const reads = AbortSignal.any([signal, reading.signal]);
  const { source, digest, encoding } = await openSource(attempt, slice, reads);
  let isRead = false;
  followSource(clock, source, () => (isRead = true));
  const stage = encodeStage(encoding, digest?.look);
  const bytes = stage.pipeline(source);
  // A waiting sink has not begun to read: without a listener, the error event would end the
  // process. Readers get the error from the stream.
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
      ...(isParted(slice) ? { partition: slice.partition } : {}),
    };
    // Unread bytes wait for the destination; without any, the destination waits for the source.
    onFlow({
      taken: () => stage.passed() - bytes.readableLength,
      isStarved: () => !isRead && bytes.readableLength === 0,
    });
    const written = await sink.write(given, bytes);
    onFlow();
    const counted = stage.finish();
    requireRecords(slice, counted.records);
    const outcome = { number: slice.number, ...counted, ...(await digest?.value()) };
    return {
      outcome: withoutRejected(attempt.delivery, outcome, written),
      refused: written.refused ?? [],
      changed: sayChanged(stage.changed()),
    };
  } finally {
    signal.removeEventListener('abort', stop);
    clock.enter('sent');
    if (!isRead) reading.abort();
  }
}

function isParted(slice: StoredSlice): slice is StoredSlice & { partition: SlicePartition } {
  return slice.partition !== undefined && slice.partition !== null;
}

/** Returns the outcome of a slice that only counts rows the destination accepted. */
function withoutRejected(
  { columns, ...layout }: Delivery,
  outcome: Omit<SliceOutcome, 'name' | 'state'>,
  { refused = [], ...written }: Awaited<ReturnType<Sink['write']>>,
): SliceOutcome {
  if (refused.length === 0) return { ...outcome, ...written };
  const at = columns.findIndex(({ name }) => name === keyColumn({ ...layout, columns }));
  const rows = refused.map(({ values }) => values);
  return {
    ...outcome,
    ...written,
    records: outcome.records - refused.length,
    rejected: refused.map(({ values, code }) => ({ key: rejectedKey(values[at]), code })),
    ...(outcome.digest === undefined ? {} : { digest: withoutRows(outcome.digest, columns, rows) }),
    ...(outcome.rows_digest === undefined
      ? {}
      : { rows_digest: sumWithoutRows(outcome.rows_digest, columns, rows) }),
  };
}

/**
 * Returns the bytes of a slice as the store sends them, and the digest of its rows if it has one.
 */
async function openSource(
  attempt: WatchedAttempt,
  slice: StoredSlice,
  signal: AbortSignal,
): Promise<{ source: Readable; digest: SliceDigest | undefined; encoding: Encoding }> {
  const { engine, definition, config, delivery } = attempt;
  const encoding = definition.encoding(config);
  const reads = {
    reading: await readingOf(attempt),
    slice,
    columns: delivery.columns,
    encoding,
    signal,
  };
  const source = await (isFirstReading(attempt.run) ? streamSliceOnce : streamSlice)(
    engine,
    reads.reading,
    slice,
    delivery.columns,
    encoding,
    reads.signal,
  );
  const digest = hasDigest(delivery, definition.column_set)
    ? digestSlice(engine, reads)
    : undefined;
  return { source, digest, encoding };
}

function requireRecords(slice: StoredSlice, read: number): void {
  if (read !== slice.records)
    throw new RetryableError(
      'count_mismatch',
      `Slice ${slice.number} had ${counted(slice.records, 'row')} when it was counted and ` +
        `${read} when it was read; it is read again.`,
    );
}
