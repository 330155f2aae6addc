import { Readable } from 'node:stream';
import type { Encoding } from '../../model/destination/encoding.ts';
import type { Column } from '../../model/models/column.ts';
import type { SourceQuery } from './source_query.ts';
import type { StoredSlice } from '../../model/run.ts';
import { openMemo } from './memo.ts';
import { streamSlice } from './source.ts';
import type { Store } from './source.ts';

/**
 * Larger answers are read each time: there the store's work lies in the rows, not in the planning
 * of the query.
 */
const records_max = 1_000;
const slice_bytes_max = 256 * 1024;
const remembered_bytes_max = 8 * 1024 * 1024;

const remembered = openMemo<Buffer>(remembered_bytes_max);

/**
 * Streams as `streamSlice` does, and remembers small answers for some seconds, 8 MiB of them at
 * most: exports of one project with the same rhythm, format and columns deliver the same bytes, and
 * the store, which needs 20 ms to understand the question, is asked once for all of them. Events of
 * a selection are final when a run is planned, so the bytes stay true; persons move on, and a query
 * is its own, so they are read each time.
 */
export async function streamSliceOnce(
  store: Store,
  reading: SourceQuery,
  slice: StoredSlice,
  columns: Column[],
  encoding: Encoding,
  signal: AbortSignal,
): Promise<Readable> {
  if (reading.query !== undefined || reading.key !== 'uuid' || slice.records > records_max)
    return streamSlice(store, reading, slice, columns, encoding, signal);
  const question = JSON.stringify([
    reading.text,
    reading.parameters,
    reading.order,
    slice.inserted_from,
    slice.inserted_to,
    slice.key_from ?? null,
    slice.key_to ?? null,
    slice.partition ?? null,
    slice.records,
    encoding,
    columns,
  ]);
  const known = remembered.find(store.clickhouse, question);
  if (known !== undefined) return Readable.from([known], { objectMode: false });
  const source = await streamSlice(store, reading, slice, columns, encoding, signal);
  const passed = Readable.from(
    passing(source, (bytes) =>
      remembered.keep(store.clickhouse, question, bytes, bytes.length + question.length),
    ),
    { objectMode: false },
  );
  // A generator that nobody has begun to read ends without its body, and the source would keep its
  // connection to the store for ever.
  passed.once('close', () => source.destroy());
  return passed;
}

/** Passes the source on, and hands its bytes to `onRead` at the end if they are few. */
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
