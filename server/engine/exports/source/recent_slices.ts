import { Readable } from 'node:stream';
import type { Encoding } from '../../model/destination/encoding.ts';
import type { Column } from '../../model/models/column.ts';
import type { SourceQuery } from './source_query.ts';
import type { StoredSlice } from '../../model/run.ts';
import { openMemo } from './memo.ts';
import { streamSlice } from './source.ts';
import type { Store } from './source.ts';

/**
 * Larger answers are read each time: their cost is in the rows, not in the planning of the query.
 */
const records_max = 1_000;
const slice_bytes_max = 256 * 1024;
const remembered_bytes_max = 8 * 1024 * 1024;

const remembered = openMemo<Buffer>(remembered_bytes_max);

/**
 * Streams like `streamSlice`, and caches small answers for some seconds, 8 MiB of them at most.
 * Exports of one project with the same interval, format and columns deliver the same bytes, so the
 * store, which needs 20 ms to plan the query, is asked once. Events of a selection are final when a
 * run is planned, so the bytes stay true. Persons change, and queries differ, so these are read
 * each time.
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
  let own: Readable | undefined;
  const read = await remembered.once(store.clickhouse, question, async () => {
    const source = await streamSlice(store, reading, slice, columns, encoding, signal);
    const { head, is_whole } = await readHead(source);
    if (!is_whole) {
      own = continued(head, source);
      return undefined;
    }
    const bytes = Buffer.concat(head);
    remembered.keep(store.clickhouse, question, bytes, bytes.length + question.length);
    return bytes;
  });
  if (read !== undefined) return Readable.from([read], { objectMode: false });
  return own ?? streamSlice(store, reading, slice, columns, encoding, signal);
}

/**
 * Reads the source to its end, or to more than the cache keeps. So a waiting run does not depend on
 * another run's destination.
 */
async function readHead(source: Readable): Promise<{ head: Buffer[]; is_whole: boolean }> {
  const head: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    head.push(chunk);
    bytes += chunk.length;
    if (bytes > slice_bytes_max) return { head, is_whole: false };
  }
  return { head, is_whole: true };
}

/** Returns the whole source, after its head was read. */
function continued(head: Buffer[], source: Readable): Readable {
  const whole = Readable.from(
    (async function* () {
      yield* head;
      yield* source as AsyncIterable<Buffer>;
    })(),
    { objectMode: false },
  );
  source.once('error', (error) => whole.destroy(error));
  // An unread generator ends without its body, and the source would keep its connection to the
  // store for ever.
  whole.once('close', () => source.destroy());
  return whole;
}
