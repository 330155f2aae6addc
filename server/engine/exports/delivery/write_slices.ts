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
import { followSource } from './step_clock.ts';
import { isFirstReading, readingOf, say } from './attempt.ts';
import type { WatchedAttempt } from './attempt.ts';
import { requireReplacedBytes } from './replacing.ts';

/**
 * Writes the slices that no earlier attempt made safe, stores each when it ends, and returns all
 * outcomes in order.
 */
export async function writeSlices(
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
    const { outcome, refused, changed } = await inSpan(
      'slice',
      { 'sluice.slice': slice.number, 'sluice.records': slice.records },
      () => writeSlice(attempt, sink, slice, slices.length),
    );
    outcomes.set(slice.number, outcome);
    requireReplacedBytes(attempt.delivery, bytesIn([...outcomes.values()]));
    attempt.clock.enter('sent');
    await storeProgress(engine, run, [...outcomes.values()]);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    await say(
      attempt,
      'INFO',
      `Slice ${slice.number + 1} of ${slices.length}: ${counted(outcome.records, 'row')}, ` +
        `${counted(outcome.bytes, 'byte')} in ${seconds} s.`,
    );
    if (refused.length > 0)
      await say(
        attempt,
        'WARNING',
        `Slice ${slice.number + 1} of ${slices.length}: the destination refused ` +
          `${counted(refused.length, 'row')}, now set aside. ${reasonsOf(refused)}`,
      );
    if (changed !== undefined)
      await say(attempt, 'WARNING', `Slice ${slice.number + 1} of ${slices.length}: ${changed}`);
    engine.metrics.records_exported.inc({ destination: definition.type }, outcome.records);
    engine.metrics.bytes_exported.inc({ destination: definition.type }, outcome.bytes);
  }
  return slices.map((slice) => outcomes.get(slice.number)!);
}

function bytesIn(outcomes: SliceOutcome[]): number {
  return outcomes.reduce((sum, { bytes }) => sum + bytes, 0);
}

async function writeSlice(
  attempt: WatchedAttempt,
  sink: Sink,
  slice: StoredSlice,
  total: number,
): Promise<{ outcome: SliceOutcome; refused: RejectedRow[]; changed: string | undefined }> {
  const { signal, clock } = attempt;
  clock.enter('read');
  // Ends the query as well if the sink fails first.
  const reading = new AbortController();
  const { source, digest, encoding } = await openSource(attempt, slice, reading.signal);
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
    requireRecords(slice, counted.records);
    const outcome = { number: slice.number, ...counted, ...(await digest?.value()) };
    return {
      outcome: withoutRejected(attempt.delivery, outcome, written),
      refused: written.refused ?? [],
      changed: sayChanged(stage.changed()),
    };
  } finally {
    signal.removeEventListener('abort', stop);
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
  ended: AbortSignal,
): Promise<{ source: Readable; digest: SliceDigest | undefined; encoding: Encoding }> {
  const { engine, definition, config, delivery, signal } = attempt;
  const encoding = definition.encoding(config);
  const reads = {
    reading: await readingOf(attempt),
    slice,
    columns: delivery.columns,
    encoding,
    signal: AbortSignal.any([signal, ended]),
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
