import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { asPartOf, currentSpan, inSpan } from '../../../platform/tracing/span.ts';
import type { Span } from '../../../platform/tracing/span.ts';
import { giveBack } from '../../../platform/memory/buffer_pool.ts';
import type { Logger } from '../../../platform/log.ts';
import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import type { ObjectStore, OpenUpload, Part } from './object_store.ts';

const mebibyte = 1024 * 1024;
const parts_max = 10_000;
const parts_in_flight_max = 3;
/** Most files of most exports are smaller than this and need no larger buffer. */
const first_bytes = mebibyte / 2;
/** Wait for the end of a failed or stopped upload. */
const tidy_milliseconds = 5_000;

/**
 * Returns the size of a part by its number from 1. The first parts are small, so that small slices
 * need little memory. Later ones are larger, because each request is expensive for the store.
 * Finally they are large enough that 10,000 parts hold 450 GiB.
 */
export function partBytes(number: number): number {
  if (number <= 4) return 8 * mebibyte;
  return number <= 1_000 ? 16 * mebibyte : 50 * mebibyte;
}

/**
 * Sends a stream as the parts of an open upload, up to three at once. Memory is bounded by four
 * parts. Rejects with the stream's error unchanged, or with the store's translated one, whichever
 * comes first; no request is in progress then.
 */
export async function uploadParts(
  store: ObjectStore,
  key: string,
  uploadId: string,
  bytes: Readable,
): Promise<Part[]> {
  const parts: Part[] = [];
  const stop = new AbortController();
  const sending = new Set<Promise<void>>();
  const buffers = openBuffers();
  const asPart = partOf(currentSpan());
  let sent = 0;
  let failure: { error: unknown } | undefined;
  const sendPart = async (number: number, body: Buffer, size: number) => {
    try {
      const upload = () =>
        store.uploadPart(key, uploadId, number, body.subarray(0, size), stop.signal);
      parts.push(await asPart(number, size, upload));
      buffers.giveBack(body);
    } catch (error) {
      failure ??= { error: store.faults.explain(error) };
      filler.destroy();
    }
  };
  const send = async (body: Buffer, size: number) => {
    if (sent === parts_max)
      throw new NonRetryableError(
        'slice_too_large',
        'A file is larger than the store can take; set max_file_size_mb.',
      );
    sent += 1;
    const tracked = sendPart(sent, body, size).finally(() => sending.delete(tracked));
    sending.add(tracked);
    while (sending.size >= parts_in_flight_max) await Promise.race(sending);
  };
  const filler = intoParts(() => partBytes(sent + 1), buffers.take, send);
  try {
    await pipeline(bytes, filler);
  } catch (error) {
    if (failure === undefined) {
      failure = { error };
      stop.abort();
    }
  } finally {
    await Promise.all(sending);
  }
  if (failure !== undefined) throw failure.error;
  return parts.sort((one, other) => one.number - other.number);
}

/**
 * Runs `work` with an open upload, and ends the upload if that fails. If the store does not end it
 * in time, the upload stays, which is logged.
 */
export async function orEndUpload<Result>(
  store: ObjectStore,
  { key, upload_id }: OpenUpload,
  work: () => Promise<Result>,
  log?: Logger,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    // The store's own signal may be aborted by now.
    await store
      .endUpload(key, upload_id, AbortSignal.timeout(tidy_milliseconds))
      .catch((left: unknown) => log?.warn({ err: left }, 'an upload could not be ended'));
    throw error;
  }
}

/** Uploads a stream as one object, in parts: the object is complete, or no upload is left. */
export async function uploadWhole(
  store: ObjectStore,
  key: string,
  bytes: Readable,
  { content_type, log }: { content_type: string; log?: Logger },
): Promise<void> {
  const facts = { mark: randomUUID(), content_type };
  const upload_id = await store.startUpload(key, facts);
  const send = async () => {
    const parts = await uploadParts(store, key, upload_id, bytes);
    if (!(await store.completeUpload(key, upload_id, parts, facts)))
      throw new RetryableError(
        'slice_lost',
        `The store has lost the upload of ${key}; check whether a lifecycle rule of the bucket ` +
          'aborts uploads.',
      );
  };
  await orEndUpload(store, { key, upload_id }, send, log);
}

/** The bytes come from the source, outside all spans: the surrounding span is kept. */
function partOf(around: Span | undefined) {
  return <Result>(number: number, size: number, work: () => Promise<Result>): Promise<Result> =>
    around === undefined
      ? work()
      : asPartOf(around, () =>
          inSpan('part', { 'sluice.part': number, 'sluice.bytes': size }, work, 3),
        );
}

/**
 * Fills one buffer after the other with the written bytes, and waits until each is sent. It gets
 * the bytes as they come: an iterator would join them once more.
 */
function intoParts(
  sizeOfNext: () => number,
  take: (size: number) => Buffer,
  send: (body: Buffer, size: number) => Promise<void>,
): Writable {
  let body: Buffer | undefined;
  let size = 0;
  let isFirst = true;
  const fill = async (chunk: Buffer) => {
    for (let from = 0; from < chunk.length;) {
      body ??= take(isFirst ? Math.min(first_bytes, sizeOfNext()) : sizeOfNext());
      const copied = chunk.copy(body, size, from);
      from += copied;
      size += copied;
      if (size < body.length) continue;
      if (body.length < sizeOfNext()) body = grown(body, take(sizeOfNext()));
      else await flush();
    }
    giveBack(chunk);
  };
  const flush = async () => {
    const [full, length] = [body, size];
    [body, size, isFirst] = [undefined, 0, false];
    if (full !== undefined) await send(full, length);
  };
  const callBack = (work: Promise<void>, done: (error?: Error) => void) =>
    void work.then(() => done(), done);
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => callBack(fill(chunk), done),
    final: (done) => callBack(flush(), done),
  });
}

function grown(full: Buffer, larger: Buffer): Buffer {
  full.copy(larger);
  return larger;
}

/**
 * Reused buffers: new ones for each part would be garbage that V8 collects with a marking of its
 * whole heap.
 */
function openBuffers(): { take(size: number): Buffer; giveBack(buffer: Buffer): void } {
  const free: Buffer[] = [];
  return {
    take: (size) => {
      const known = free.pop();
      return known?.length === size ? known : Buffer.allocUnsafeSlow(size);
    },
    giveBack: (buffer) => void free.push(buffer),
  };
}

/** Ends our listed uploads except those to keep, one after another, while they are listed. */
export async function endUploadsBut(
  kept: readonly OpenUpload[],
  uploads: AsyncIterable<OpenUpload>,
  end: (key: string, uploadId: string) => Promise<void>,
  isOurs: (key: string) => boolean = () => true,
): Promise<void> {
  const ids = new Set(kept.map((upload) => upload.upload_id));
  for await (const { key, upload_id } of uploads)
    if (!ids.has(upload_id) && isOurs(key)) await end(key, upload_id);
}
