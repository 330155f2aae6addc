import type { Readable } from 'node:stream';
import { NonRetryableError } from '../destination.ts';
import type { ObjectStore, OpenUpload, Part } from './object_store.ts';

const mebibyte = 1024 * 1024;
const parts_max = 10_000;
const parts_in_flight_max = 3;

/** The size of a part by its number from 1: small at first, so that small slices take little memory, and large enough later that 10,000 parts hold 450 GiB. */
export function partBytes(number: number): number {
  if (number <= 100) return 8 * mebibyte;
  return number <= 1_000 ? 16 * mebibyte : 50 * mebibyte;
}

/**
 * Sends a stream as the parts of an open upload, up to three at once. Memory is bounded by four parts. Rejects with the stream's error as it is, or with the store's
 * explained, whichever comes first; then no request is under way any more.
 */
export async function uploadParts(store: ObjectStore, key: string, uploadId: string, bytes: Readable): Promise<Part[]> {
  const parts: Part[] = [];
  const stop = new AbortController();
  const sending = new Set<Promise<void>>();
  let failure: { error: unknown } | undefined;
  const send = (number: number, body: Buffer) => {
    const sent = store.uploadPart(key, uploadId, number, body, stop.signal).then(
      (part) => void parts.push(part),
      (error: unknown) => {
        failure ??= { error: store.faults.explain(error) };
        bytes.destroy();
      },
    );
    const tracked = sent.finally(() => sending.delete(tracked));
    sending.add(tracked);
  };
  try {
    let number = 1;
    for await (const body of inParts(bytes)) {
      if (number > parts_max) throw new NonRetryableError('slice_too_large', 'A file is larger than the store can take; set max_file_size_mb.');
      send(number, body);
      number += 1;
      while (sending.size >= parts_in_flight_max) await Promise.race(sending);
      if (failure !== undefined) break;
    }
  } catch (error) {
    failure ??= { error };
    stop.abort();
  } finally {
    bytes.destroy();
    await Promise.all(sending);
  }
  if (failure !== undefined) throw failure.error;
  return parts.sort((one, other) => one.number - other.number);
}

async function* inParts(bytes: Readable): AsyncIterable<Buffer> {
  let held: Buffer[] = [];
  let size = 0;
  let number = 1;
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    held.push(chunk);
    size += chunk.length;
    while (size >= partBytes(number)) {
      const all = Buffer.concat(held);
      yield all.subarray(0, partBytes(number));
      held = [all.subarray(partBytes(number))];
      size = held[0]?.length ?? 0;
      number += 1;
    }
  }
  if (size > 0) yield Buffer.concat(held);
}

/** Ends the listed uploads but for the kept ones, one after another, while they are listed. */
export async function endUploadsBut(
  kept: readonly OpenUpload[],
  uploads: AsyncIterable<OpenUpload>,
  end: (key: string, uploadId: string) => Promise<void>,
): Promise<void> {
  const ids = new Set(kept.map((upload) => upload.upload_id));
  for await (const { key, upload_id } of uploads) if (!ids.has(upload_id)) await end(key, upload_id);
}
