import { Readable } from 'node:stream';
import { streamAnswer } from '../../../platform/clickhouse/answer.ts';
import type { Engine } from '../engine.ts';
import type { Encoding } from '../../model/destination/encoding.ts';
import { selectFor } from '../../destinations/formats/select.ts';
import type { Column } from '../../model/models/column.ts';
import { openTimeBudget } from './time_budget.ts';
import { isEngineError } from '../../query/gate/engine_error.ts';
import { partitionConditions } from './partitions.ts';
import { queryFailure, queryInterrupted, queryTookTooLong } from './query_failure.ts';
import type { ResolvedQuery } from '../../query/query.ts';
import type { SourceQuery } from './source_query.ts';
import type { StoredSlice } from '../../model/run.ts';

/** One thread reads up to this many rows: more threads take longer to create than they save. */
const few_records = 10_000;

/**
 * During streaming, the store's own limit counts the reader's time too, so it is set higher than
 * any delivery needs. `cancel_...` makes ClickHouse end a query whose reader has disconnected.
 */
const streaming_settings = {
  max_execution_time: 86_400,
  cancel_http_readonly_queries_on_client_close: 1,
};

/** The store, and the limits of its queries. */
export type Store = Pick<Engine, 'clickhouse' | 'query_limits' | 'query_budget'>;

/**
 * ClickHouse text, with parameters and settings in addition to the reading's. Aborting the signal
 * kills the query.
 */
export type Question = {
  query: string;
  parameters?: Record<string, string | number>;
  settings?: Record<string, string | number>;
  signal: AbortSignal;
  /** True if the answer is large enough to stream. */
  is_large?: boolean;
};

/** Counts the rows of the source. */
export async function countRecords(
  store: Store,
  reading: SourceQuery,
  signal: AbortSignal,
): Promise<number> {
  const [row] = await ask<{ records: string | number }>(store, reading, {
    query: `SELECT toUInt64(count()) AS records FROM ${reading.text}`,
    signal,
  });
  return Number(row?.records ?? 0);
}

/**
 * Streams one slice in ClickHouse's own encoding, final except for marks and compression, which
 * `encodeStage` adds. The stream fails with the query; aborting the signal kills the query.
 */
export async function streamSlice(
  store: Store,
  reading: SourceQuery,
  slice: StoredSlice,
  columns: Column[],
  encoding: Encoding,
  signal: AbortSignal,
): Promise<Readable> {
  const select = selectFor(encoding, columns, { marked: true });
  const bounds = boundsOf(reading, slice, columns);
  const written = (format: string): Question => ({
    query: `SELECT ${select.expressions} FROM ${reading.text}${bounds.where}
      ORDER BY ${reading.order} FORMAT ${format}`,
    parameters: bounds.parameters,
    settings:
      slice.records > few_records ? select.settings : { ...select.settings, max_threads: 1 },
    signal,
    is_large: slice.records > few_records,
  });
  if (reading.query === undefined) return exec(store, reading, written(select.format));
  return Readable.from(
    streamQuery(store, reading, { wanted: written(select.format), tried: written('Null') }),
    { objectMode: false },
  );
}

/**
 * Returns the condition for a reading's rows in a slice, and its parameters: from its first instant
 * (or row) up to the first of the next slice.
 */
export function boundsOf(
  reading: Pick<SourceQuery, 'key' | 'query'>,
  {
    inserted_from,
    key_from,
    inserted_to,
    key_to,
    partition,
  }: Pick<StoredSlice, 'inserted_from' | 'key_from' | 'inserted_to' | 'key_to' | 'partition'>,
  columns: readonly Column[],
): { where: string; parameters: Record<string, string> } {
  const parted =
    partition === undefined || partition === null
      ? { conditions: [], parameters: {} }
      : partitionConditions(reading, partition, columns);
  if (inserted_from === null || inserted_to === null)
    return {
      where: parted.conditions.length === 0 ? '' : ` WHERE ${parted.conditions.join(' AND ')}`,
      parameters: parted.parameters,
    };
  const type = reading.key === 'uuid' ? 'UUID' : 'String';
  const [from, to] = ["{inserted_from:DateTime64(6, 'UTC')}", "{inserted_to:DateTime64(6, 'UTC')}"];
  const parameters: Record<string, string> = {
    inserted_from: plain(inserted_from),
    inserted_to: plain(inserted_to),
  };
  let where = ` WHERE inserted_at >= ${from}`;
  if (typeof key_from === 'string') {
    where += ` AND (inserted_at > ${from} OR ${reading.key} >= {key_from:${type}})`;
    parameters['key_from'] = key_from;
  }
  if (typeof key_to === 'string') {
    where +=
      ` AND (inserted_at < ${to}` +
      ` OR (inserted_at = ${to} AND ${reading.key} < {key_to:${type}}))`;
    parameters['key_to'] = key_to;
  } else where += ` AND inserted_at < ${to}`;
  where += parted.conditions.map((condition) => ` AND ${condition}`).join('');
  return { where, parameters: { ...parameters, ...parted.parameters } };
}

/**
 * Returns the source's first rows in order, encoded but uncompressed; undefined for more than
 * `bytes_max`, which bounds the memory.
 */
export async function readFirst(
  store: Store,
  reading: SourceQuery,
  { count, bytes_max }: { count: number; bytes_max: number },
  columns: Column[],
  encoding: Encoding,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  const select = selectFor(encoding, columns);
  const query = `SELECT ${select.expressions} FROM (SELECT * FROM ${reading.text}
    ORDER BY ${reading.order} LIMIT ${count}) ORDER BY ${reading.order} FORMAT ${select.format}`;
  return explained(store, reading, signal, async () => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of await exec(store, reading, {
      query,
      settings: select.settings,
      signal,
    })) {
      bytes += (chunk as Buffer).length;
      if (bytes > bytes_max) return undefined;
      chunks.push(chunk as Buffer);
    }
    return Buffer.concat(chunks, bytes);
  });
}

/**
 * Yields the bytes of a query's answer. Rejects with the error that `queryFailure` returns. An
 * answer that has begun can only be cut off, so the same query runs again without its bytes to get
 * the reason. The reader's waiting time for the store is bounded.
 */
async function* streamQuery(
  store: Store,
  reading: SourceQuery,
  { wanted, tried }: { wanted: Question; tried: Question },
): AsyncGenerator<Buffer> {
  const budget = openTimeBudget(store.query_limits.execution_seconds);
  const signal = AbortSignal.any([budget.signal, wanted.signal]);
  const giveBack = await takeMemory(store, reading, wanted.signal);
  try {
    const stream = await budget.wait(() => exec(store, unhurried(reading), { ...wanted, signal }));
    try {
      const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
      for (;;) {
        const chunk = await budget.wait(() => chunks.next());
        if (chunk.done === true) return;
        yield chunk.value;
      }
    } finally {
      stream.destroy();
    }
  } catch (error) {
    if (budget.signal.aborted) throw queryTookTooLong(store.query_limits, error);
    if (signal.aborted) throw error;
    const known = queryFailure(reading.query!, store.query_limits, error);
    if (known !== error) throw known;
    if (isEngineError(error)) throw error;
    await run(store, reading.query!, async () => {
      for await (const _ of await exec(store, reading, tried));
    });
    throw queryInterrupted(error);
  } finally {
    giveBack();
  }
}

/** Reserves the query's memory in the store and waits until it is free. */
function takeMemory(
  { query_budget, query_limits }: Store,
  { team_id }: SourceQuery,
  signal: AbortSignal,
): Promise<() => void> {
  return query_budget.take(team_id, query_limits.memory_bytes, signal);
}

function unhurried(reading: SourceQuery): SourceQuery {
  return reading.query === undefined
    ? reading
    : { ...reading, settings: { ...reading.settings, ...streaming_settings } };
}

/**
 * Returns the rows of a question's answer. For a query, it rejects with the error that
 * `queryFailure` returns.
 */
export async function ask<Row>(
  store: Store,
  reading: SourceQuery,
  question: Question,
): Promise<Row[]> {
  return explained(store, reading, question.signal, () =>
    store.clickhouse.rows(asked(reading, question)),
  );
}

async function exec(store: Store, reading: SourceQuery, question: Question): Promise<Readable> {
  // The columns come from `selectFor`: text, numbers and instants.
  if (question.is_large === true)
    return streamAnswer(store.clickhouse, asked(reading, question), { is_plain: true });
  const { stream } = await store.clickhouse.exec(asked(reading, question));
  return stream;
}

function asked(reading: SourceQuery, { query, parameters, settings, signal }: Question) {
  return {
    query,
    query_params: { ...reading.parameters, ...parameters },
    clickhouse_settings: { ...settings, ...reading.settings },
    // The literals of a query can exceed the URL length of some proxies. A streamed query (`exec`)
    // still has them in its URL, because the client offers no other way.
    use_multipart_params_auto: true,
    abort_signal: signal,
  };
}

/**
 * Returns the result of one question. For a query, it first waits for memory and translates errors
 * for the author.
 */
async function explained<Result>(
  store: Store,
  reading: SourceQuery,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  if (reading.query === undefined) return work();
  const giveBack = await takeMemory(store, reading, signal);
  try {
    return await run(store, reading.query, work);
  } finally {
    giveBack();
  }
}

async function run<Result>(
  store: Store,
  query: ResolvedQuery,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw queryFailure(query, store.query_limits, error);
  }
}

function plain(text: string): string {
  return text.replace('T', ' ').replace('Z', '');
}
