import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { stopError } from '../../model/destination/stop.ts';
import { RetryableError } from '../../model/destination/errors.ts';
import { partTimeout } from '../object_store/object_store.ts';
import type { Dataset } from './api.ts';
import type { GoogleAnswer, GoogleClient } from './client.ts';
import { factsOf } from './faults.ts';
import { jobBody } from './jobs.ts';
import type { Job, JobConfiguration } from './jobs.ts';

/** Pieces must be multiples of 256 KiB except for the last one. */
const piece_bytes = 8 * 1024 * 1024;
const faults_max = 5;
const pause_milliseconds = 500;

/** A piece of a stream: its offset, and the total length if it is the last one. */
type Piece = { bytes: Buffer; offset: number; total: number | undefined };

/**
 * Starts a load job with the bytes of a stream as its file, by a resumable upload. Guarantees: no
 * job exists before the last byte has arrived. After a lost answer, it asks how much of a piece has
 * arrived and continues from there. A few pieces bound the memory. Rejects with the stream's error
 * unchanged.
 */
export async function uploadJob(
  dataset: Dataset,
  id: string,
  configuration: JobConfiguration,
  bytes: Readable,
): Promise<Job> {
  try {
    const session = await startSession(dataset, id, configuration);
    for await (const piece of inPieces(bytes)) {
      const job = await sendPiece(dataset.client, session, piece);
      if (job !== undefined) return job;
    }
    throw new RetryableError(
      'slice_lost',
      'BigQuery did not accept the end of an upload. Sluice uploads it again.',
    );
  } finally {
    bytes.destroy();
  }
}

async function startSession(
  dataset: Dataset,
  id: string,
  configuration: JobConfiguration,
): Promise<string> {
  const { headers } = await dataset.client.send({
    method: 'POST',
    path:
      `/upload/bigquery/v2/projects/${encodeURIComponent(dataset.config.project_id)}/jobs` +
      '?uploadType=resumable',
    headers: {
      'content-type': 'application/json; charset=UTF-8',
      'x-upload-content-type': 'application/octet-stream',
    },
    body: JSON.stringify(jobBody(dataset, id, configuration)),
  });
  const session = headers.get('location');
  if (session === null || !session.startsWith('https://'))
    throw new RetryableError('unexpected_answer', 'BigQuery gave no address for an upload.');
  return session;
}

/**
 * The last piece is held back until the stream has ended, because it must be sent with the total
 * length.
 */
async function* inPieces(bytes: Readable): AsyncGenerator<Piece> {
  let held: Buffer[] = [];
  let size = 0;
  let offset = 0;
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    held.push(chunk);
    size += chunk.length;
    while (size > piece_bytes) {
      const all = Buffer.concat(held);
      yield { bytes: all.subarray(0, piece_bytes), offset, total: undefined };
      offset += piece_bytes;
      held = [all.subarray(piece_bytes)];
      size -= piece_bytes;
    }
  }
  yield { bytes: Buffer.concat(held), offset, total: offset + size };
}

/** Sends a piece until Google has all of it. Returns the job that the last piece starts. */
async function sendPiece(
  client: GoogleClient,
  session: string,
  piece: Piece,
): Promise<Job | undefined> {
  let sent = 0;
  let is_lost = false;
  for (let faults = 0; faults < faults_max;) {
    const rest = is_lost ? Buffer.alloc(0) : piece.bytes.subarray(sent);
    let answer: GoogleAnswer;
    try {
      answer = await put(client, session, rest, rangeOf(rest, piece.offset + sent, piece.total));
    } catch (error) {
      faults += 1;
      if (client.signal.aborted || faults === faults_max || !isPassing(error))
        throw lostSession(error);
      await pause(pause_milliseconds, undefined, { signal: client.signal }).catch(() => {
        throw stopError(client.signal);
      });
      is_lost = true;
      continue;
    }
    if (answer.status !== 308) return JSON.parse(answer.text) as Job;
    const received = receivedBytes(answer) - piece.offset;
    if (received < sent || received > piece.bytes.length) break;
    if (received === sent && !is_lost) faults += 1;
    is_lost = false;
    sent = received;
    if (sent === piece.bytes.length && piece.total === undefined) return undefined;
  }
  throw new RetryableError(
    'slice_lost',
    'BigQuery does not resume an upload. Sluice starts it again.',
  );
}

function put(
  client: GoogleClient,
  session: string,
  bytes: Buffer,
  range: string,
): Promise<GoogleAnswer> {
  // The library must not retry it: after a fault, the code first has to ask how much has arrived.
  return client.send({
    method: 'PUT',
    path: session,
    headers: { 'content-range': range },
    body: bytes,
    tries: 1,
    timeout_milliseconds: partTimeout(bytes.length),
  });
}

/** Returns the range of sent bytes; an empty one asks how many have arrived, or ends the upload. */
function rangeOf(bytes: Buffer, from: number, total: number | undefined): string {
  const span = bytes.length === 0 ? '*' : `${from}-${from + bytes.length - 1}`;
  return `bytes ${span}/${total ?? '*'}`;
}

/** `Range: bytes=0-N` tells how many bytes have arrived; it is absent if none have. */
function receivedBytes({ headers }: GoogleAnswer): number {
  const last = /^(?:bytes=)?0-(\d+)$/.exec(headers.get('range') ?? '')?.[1];
  return last === undefined ? 0 : Number(last) + 1;
}

function isPassing(error: unknown): boolean {
  const status = factsOf(error)?.status;
  return status === undefined || status === 408 || status === 429 || status >= 500;
}

/** An upload that Google has lost is nothing that the user could fix. */
function lostSession(error: unknown): unknown {
  const status = factsOf(error)?.status;
  if (status !== 404 && status !== 410) return error;
  return new RetryableError(
    'slice_lost',
    'BigQuery ended an upload before it was complete. Sluice uploads it again.',
    { cause: error },
  );
}
