import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Logger } from '../../../platform/log.ts';
import { RetryableError } from '../../destination.ts';
import type { Delivery, Manifest, Sink, Slice, SliceOutcome } from '../../destination.ts';
import { fileEncoding } from '../../formats/file_config.ts';
import { manifestName, sliceName, stemOf } from '../../formats/naming.ts';
import { deliveryOfManifest } from '../../formats/verify_files.ts';
import type { Bucket, Part } from './bucket.ts';
import type { S3Config } from './config.ts';
import { isMissing, isUnavailable, s3Error, withS3Errors } from './faults.ts';
import { uploadParts } from './upload.ts';

/** An upload that waits for commit; `mark` is kept with the object and proves that a completed object is this upload's. */
type UploadState = { upload_id: string; mark: string; parts: Part[] };

type Place = { bucket: Bucket; config: S3Config; delivery: Delivery; stem: string; manifest: string; log: Logger };

/** How long a failed or stopped write waits until its upload is ended; what it leaves is ended by the next attempt or by `abort`. */
const tidy_timeout_milliseconds = 5_000;

const content_types = {
  JSONLines: 'application/x-ndjson',
  CSV: 'text/csv',
  Parquet: 'application/vnd.apache.parquet',
  TabSeparated: 'text/tab-separated-values',
};

/** Opens a delivery into a bucket. A slice is one upload that nobody sees until `commit` completes it. */
export function openS3Sink(bucket: Bucket, config: S3Config, delivery: Delivery, log: Logger): Sink {
  const place: Place = { bucket, config, delivery, stem: stemOf(config.prefix, delivery), manifest: manifestName(config.prefix, delivery), log };
  return {
    isCommitted: () => withS3Errors(() => isCommitted(place)),
    recover: (outcomes) => withS3Errors(() => recover(place, outcomes)),
    write: (slice, bytes) => withS3Errors(() => write(place, slice, bytes)),
    commit: (outcomes, manifest) => withS3Errors(() => commit(place, outcomes, manifest)),
    abort: () => withS3Errors(() => abort(place)),
    close: async () => bucket.close(),
  };
}

function stateOf(outcome: SliceOutcome): UploadState {
  return outcome.state as UploadState;
}

/** Without the right to read, a delivery counts as not committed: writing it again gives the same objects. */
async function isCommitted(place: Place): Promise<boolean> {
  const content = await unlessUnavailable(place, () => place.bucket.read(place.manifest));
  return content !== undefined && (await deliveryOfManifest(content)) === place.delivery.delivery_id;
}

async function recover(place: Place, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  const surviving: SliceOutcome[] = [];
  for (const outcome of outcomes) if (await isWhole(place, outcome)) surviving.push(outcome);
  await endUploads(place, new Set(surviving.map((outcome) => stateOf(outcome).upload_id)));
  return surviving;
}

async function isWhole(place: Place, outcome: SliceOutcome): Promise<boolean> {
  const { upload_id, parts } = stateOf(outcome);
  const stored = await unlessUnavailable(place, () => place.bucket.listParts(outcome.name, upload_id));
  if (stored === undefined) return isCompleted(place, outcome);
  const etags = new Map(stored.map((part) => [part.number, part.etag]));
  return stored.reduce((sum, part) => sum + part.bytes, 0) === outcome.bytes && parts.every((part) => etags.get(part.number) === part.etag);
}

async function isCompleted(place: Place, outcome: SliceOutcome): Promise<boolean> {
  const found = await unlessUnavailable(place, () => place.bucket.describe(outcome.name));
  return isOfUpload(found, outcome);
}

async function write(place: Place, slice: Slice, bytes: Readable): Promise<{ name: string; state: UploadState }> {
  const { bucket, config, delivery } = place;
  const encoding = fileEncoding(config);
  const name = sliceName(config.prefix, delivery, slice.number, encoding);
  const mark = randomUUID();
  try {
    const uploadId = await bucket.startUpload(name, mark, content_types[encoding.format]);
    try {
      return { name, state: { upload_id: uploadId, mark, parts: await uploadParts(bucket, name, uploadId, bytes) } };
    } catch (error) {
      // The bucket's own signal may be aborted by now.
      await bucket
        .abortUpload(name, uploadId, AbortSignal.timeout(tidy_timeout_milliseconds))
        .catch((left: unknown) => place.log.warn({ err: left }, 'an upload could not be ended'));
      throw error;
    }
  } finally {
    bytes.destroy();
  }
}

async function commit(place: Place, outcomes: SliceOutcome[], manifest: Manifest): Promise<void> {
  for (const outcome of outcomes) await complete(place, outcome);
  // A store may answer a repeated completion with success although the object is gone by now, so what is there is asked for, just before the manifest.
  for (const outcome of outcomes) await requireObject(place, outcome);
  await place.bucket.put(place.manifest, manifest.text);
  await tidyUp(place, new Set([place.manifest, ...outcomes.map((outcome) => outcome.name)]));
}

/** The delivery is there and whole by now, so a fault in removing what else begins with its name is no fault of the delivery. */
async function tidyUp(place: Place, named: Set<string>): Promise<void> {
  try {
    await removeObjects(place, (key) => !named.has(key));
    await endUploads(place, new Set());
  } catch (error) {
    place.log.warn({ err: s3Error(error), delivery_id: place.delivery.delivery_id }, 'leftovers of a committed delivery could not be removed');
  }
}

/** Without the right to ask, the store's answer to the completion has to do. */
async function requireObject(place: Place, outcome: SliceOutcome): Promise<void> {
  const isThere = await unlessUnavailable(place, async () => isOfUpload(await place.bucket.describe(outcome.name), outcome));
  if (isThere === false)
    throw new RetryableError('slice_lost', `The object ${outcome.name} was removed or replaced before it could be shown; it is made again.`);
}

function isOfUpload(found: { bytes: number; mark: string | undefined } | undefined, outcome: SliceOutcome): boolean {
  return found !== undefined && found.bytes === outcome.bytes && found.mark === stateOf(outcome).mark;
}

async function complete(place: Place, outcome: SliceOutcome): Promise<void> {
  const { upload_id, parts } = stateOf(outcome);
  try {
    await place.bucket.completeUpload(outcome.name, upload_id, parts);
  } catch (error) {
    // Completed by an earlier call whose answer was lost, or gone.
    if (!isMissing(error)) throw error;
    if (!(await isCompleted(place, outcome)))
      throw new RetryableError('slice_lost', `The upload of ${outcome.name} ended before it could be completed; it is made again.`, { cause: error });
  }
}

async function abort(place: Place): Promise<void> {
  await endUploads(place, new Set());
  if (!(await isCommitted(place))) await removeObjects(place, () => true);
}

/** Ends the open uploads of this delivery, whoever started them, but for the given ones. */
async function endUploads(place: Place, kept: Set<string>): Promise<void> {
  await unlessUnavailable(place, async () => {
    for await (const { key, upload_id } of place.bucket.listUploads(`${place.stem}-`)) {
      if (!kept.has(upload_id)) await place.bucket.abortUpload(key, upload_id);
    }
  });
}

async function removeObjects(place: Place, isUnwanted: (key: string) => boolean): Promise<void> {
  await unlessUnavailable(place, async () => {
    for await (const key of place.bucket.list(place.stem, { direct: false })) if (isUnwanted(key)) await place.bucket.remove(key);
  });
}

/** What tidies up or looks back must not fail a delivery where the access key has no right to it. */
async function unlessUnavailable<Result>(place: Place, work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    place.log.info({ err: error, delivery_id: place.delivery.delivery_id }, 'the store does not allow this; the delivery goes on without it');
    return undefined;
  }
}
