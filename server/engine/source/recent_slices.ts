import { Readable } from 'node:stream';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import type { Encoding } from '../destination/encoding.ts';
import type { Column } from '../models/column.ts';
import type { Reading } from './source_query.ts';
import type { StoredSlice } from '../run.ts';
import { streamSlice } from './source.ts';
import type { Store } from './source.ts';

/** The exports of a project that are due together are taken within seconds. */
const lifetime_ms = 10_000;
/** What is larger is read each time: there the store's work is in the rows and not in understanding the question. */
const records_max = 1_000;
const slice_bytes_max = 256 * 1024;
const remembered_bytes_max = 8 * 1024 * 1024;

type Remembered = { slices: Map<string, { bytes: Buffer; read_at: number }>; bytes: number };

/** By store, so that what is remembered goes with it. */
const remembered = new WeakMap<ClickHouse, Remembered>();

/**
 * Streams as `streamSlice` does, and remembers small answers for some seconds, 8 MiB of them at most: exports of one project with the same rhythm, format and columns deliver the same bytes, and the store, which needs 20 ms to
 * understand the question, is asked once for all of them. Events of a selection are final when a run is planned, so the bytes stay true; persons move on, and a query is its own, so they are read each time.
 */
export async function streamSliceOnce(
  store: Store,
  reading: Reading,
  slice: StoredSlice,
  columns: Column[],
  encoding: Encoding,
  signal: AbortSignal,
): Promise<Readable> {
  if (reading.query !== undefined || reading.key !== 'uuid' || slice.records > records_max)
    return streamSlice(store, reading, slice, columns, encoding, signal);
  const recent = remembered.get(store.clickhouse) ?? { slices: new Map(), bytes: 0 };
  remembered.set(store.clickhouse, recent);
  const question = JSON.stringify([
    reading.text,
    reading.parameters,
    slice.inserted_from,
    slice.inserted_to,
    slice.records,
    encoding,
    columns,
  ]);
  const known = recent.slices.get(question);
  if (known !== undefined && performance.now() - known.read_at < lifetime_ms)
    return Readable.from([known.bytes], { objectMode: false });
  const source = await streamSlice(store, reading, slice, columns, encoding, signal);
  const passed = Readable.from(
    passing(source, (bytes) => remember(recent, question, bytes)),
    { objectMode: false },
  );
  // A generator that nobody has begun to read ends without its body, and the source would keep its connection to the store for ever.
  passed.once('close', () => source.destroy());
  return passed;
}

/** What the source gives, of which `onRead` is told once it has come to its end and was small. */
async function* passing(source: Readable, onRead: (bytes: Buffer) => void): AsyncGenerator<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= slice_bytes_max) chunks.push(chunk);
    yield chunk;
  }
  if (bytes <= slice_bytes_max) onRead(Buffer.concat(chunks));
}

function remember(recent: Remembered, question: string, bytes: Buffer): void {
  forget(recent, question);
  recent.slices.set(question, { bytes, read_at: performance.now() });
  recent.bytes += bytes.length + question.length;
  // A Map keeps the order of its entries: the first one is the oldest.
  for (const [oldest, { read_at }] of recent.slices) {
    if (recent.bytes <= remembered_bytes_max && performance.now() - read_at < lifetime_ms) break;
    forget(recent, oldest);
  }
}

function forget(recent: Remembered, question: string): void {
  const known = recent.slices.get(question);
  if (known === undefined) return;
  recent.slices.delete(question);
  recent.bytes -= known.bytes.length + question.length;
}
