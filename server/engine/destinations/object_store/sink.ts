import { randomInt, randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Logger } from '../../../platform/log.ts';
import {
  NonRetryableError,
  RetryableError,
  withCertainty,
} from '../../model/destination/errors.ts';
import type {
  Delivery,
  Manifest,
  Sink,
  Slice,
  SliceOutcome,
} from '../../model/destination/destination.ts';
import { fileEncoding, hasFolders, mayHaveLeftovers } from '../formats/file_config.ts';
import type { FileConfig } from '../formats/file_config.ts';
import { folderPart, isOfStem, receiptsOfStem, sliceName, stemOf } from '../formats/naming.ts';
import { deliveryOfReceipt } from '../formats/verify_files.ts';
import { withStoreFaults } from './faults.ts';
import type { ObjectStore, Part, UploadFacts } from './object_store.ts';
import { orEndUpload, uploadParts } from './upload.ts';

/** An upload that waits for commit. */
type UploadState = { upload_id: string; mark?: string | undefined; parts: Part[] };

type Place = {
  store: ObjectStore;
  config: FileConfig;
  delivery: Delivery;
  stem: string;
  /** The keys of its receipt; the first one is written now. Empty if the store keeps none. */
  receipts: string[];
  log: Logger;
};

/** Numbers of uploads of one slice; a number of a slice times this is a safe integer. */
const unique_max = 1_000_000_000;

const content_types = {
  JSONLines: 'application/x-ndjson',
  CSV: 'text/csv',
  Avro: 'application/vnd.apache.avro',
  Parquet: 'application/vnd.apache.parquet',
  TabSeparated: 'text/tab-separated-values',
};

/**
 * Opens a delivery into a store of objects. A slice is one upload that nobody sees until `commit`
 * completes it; the receipt comes last. Guarantee in addition to those of `Sink`: only the rights
 * to upload and to put are needed; without the others, slices are written again, which creates the
 * same objects.
 */
export function openObjectSink(
  store: ObjectStore,
  config: FileConfig,
  delivery: Delivery,
  log: Logger,
): Sink {
  const stem = stemOf(config.prefix, delivery);
  const receipts = store.is_table_bucket === true ? [] : receiptsOfStem(stem);
  const place: Place = { store, config, delivery, stem, receipts, log };
  return {
    writes_abreast: true,
    isCommitted: () => withStoreFaults(store, () => isCommitted(place)),
    recover: (outcomes) => withStoreFaults(store, () => recover(place, outcomes)),
    write: (slice, bytes) => write(place, slice, bytes),
    commit: (outcomes, manifest) => commit(place, outcomes, manifest),
    abort: () => withStoreFaults(store, () => abort(place)),
    // The outbound guard owns the connections, which stay open.
    close: async () => undefined,
  };
}

function stateOf(outcome: SliceOutcome): UploadState {
  return outcome.state as UploadState;
}

function factsOf({ config }: Place, mark = ''): UploadFacts {
  return { mark, content_type: content_types[fileEncoding(config).format] };
}

/**
 * Without the right to read, a delivery counts as uncommitted: writing it again creates the same
 * objects.
 */
async function isCommitted(place: Place): Promise<boolean> {
  for (const key of place.receipts) {
    const content = await unlessUnavailable(place, () => place.store.read(key));
    if (content === undefined) continue;
    if ((await deliveryOfReceipt(content)) === place.delivery.delivery_id) return true;
  }
  return false;
}

async function recover(place: Place, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  const surviving: SliceOutcome[] = [];
  for (const outcome of outcomes) if (await isWhole(place, outcome)) surviving.push(outcome);
  if (mayHaveLeftovers(place)) await endUploads(place, surviving);
  return surviving;
}

async function isWhole(place: Place, outcome: SliceOutcome): Promise<boolean> {
  const { upload_id, parts } = stateOf(outcome);
  const stored = await unlessUnavailable(place, () =>
    place.store.listParts(outcome.name, upload_id),
  );
  if (stored === undefined) return isCompleted(place, outcome);
  const etags = new Map(stored.map((part) => [part.number, part.etag]));
  return (
    stored.reduce((sum, part) => sum + part.bytes, 0) === outcome.bytes &&
    parts.every((part) => etags.get(part.number) === part.etag)
  );
}

async function isCompleted(place: Place, outcome: SliceOutcome): Promise<boolean> {
  const found = await unlessUnavailable(place, () => place.store.describe(outcome.name));
  return isOfUpload(found, outcome);
}

async function write(
  place: Place,
  slice: Slice,
  bytes: Readable,
): Promise<{ name: string; state: UploadState }> {
  const { store } = place;
  const { name, mark } = namesOf(place, slice);
  const facts = factsOf(place, mark);
  try {
    const upload_id = await withStoreFaults(store, () => store.startUpload(name, facts));
    // The next attempt or `abort` ends an upload that this leaves open.
    const parts = await orEndUpload(
      store,
      { key: name, upload_id },
      () => uploadParts(store, name, upload_id, bytes),
      place.log,
    );
    return { name, state: { upload_id, mark, parts } };
  } finally {
    bytes.destroy();
  }
}

/** Returns the name of a slice, and its mark. Without marks, no two uploads have the same name. */
function namesOf({ store, config, delivery }: Place, { number, partition }: Slice) {
  const is_marked = store.is_table_bucket !== true;
  const own = is_marked ? number : number * unique_max + randomInt(unique_max);
  const slice = { number: own, ...(partition === undefined ? {} : { partition }) };
  const name = sliceName(config.prefix, delivery, slice, fileEncoding(config));
  return { name, mark: is_marked ? randomUUID() : undefined };
}

/**
 * A refusal of the store before the first completion shows nothing. After any other fault, objects
 * may be visible, because they are shown one after the other.
 */
async function commit(place: Place, outcomes: SliceOutcome[], manifest: Manifest): Promise<void> {
  const { store, delivery } = place;
  let mayShow = delivery.erased !== undefined;
  const explained = <Result>(work: () => Promise<Result>) =>
    withStoreFaults(store, work).catch((error: unknown) => {
      mayShow ||= !(error instanceof NonRetryableError);
      throw error;
    });
  await withCertainty(
    async () => {
      for (const outcome of outcomes) {
        await explained(() => complete(place, outcome));
        mayShow = true;
      }
      await explained(() => showManifest(place, outcomes, manifest));
    },
    () => mayShow,
  );
}

async function showManifest(
  place: Place,
  outcomes: SliceOutcome[],
  manifest: Manifest,
): Promise<void> {
  // A store may report success for a repeated completion although the object is gone by now, so the
  // code checks it just before the receipt.
  for (const outcome of outcomes) await requireObject(place, outcome);
  for (const receipt of place.receipts.slice(0, 1)) await place.store.put(receipt, manifest.text);
  await tidyUp(place, new Set(outcomes.map((outcome) => outcome.name)));
}

/**
 * The delivery is complete by now, so a fault in removing other objects with its prefix is no fault
 * of the delivery, unless rows must leave it.
 */
async function tidyUp(place: Place, named: Set<string>): Promise<void> {
  if (!mayHaveLeftovers(place)) return;
  try {
    await removeObjects(place, (key) => !named.has(key));
    await endUploads(place, []);
  } catch (error) {
    // Erased rows must not stay in an object that no receipt names.
    if (place.delivery.erased !== undefined) throw error;
    const explained = place.store.faults.explain(error);
    place.log.warn(
      { err: explained, delivery_id: place.delivery.delivery_id },
      'leftovers of a committed delivery could not be removed',
    );
  }
}

/** Without the right to read it, the store's answer to the completion must be enough. */
async function requireObject(place: Place, outcome: SliceOutcome): Promise<void> {
  const isThere = await unlessUnavailable(place, async () =>
    isOfUpload(await place.store.describe(outcome.name), outcome),
  );
  if (isThere === false)
    throw new RetryableError(
      'slice_lost',
      `The object ${outcome.name} was removed or replaced before it could be shown; it is ` +
        'created again.',
    );
}

function isOfUpload(
  found: { bytes: number; mark: string | undefined } | undefined,
  outcome: SliceOutcome,
): boolean {
  return (
    found !== undefined && found.bytes === outcome.bytes && found.mark === stateOf(outcome).mark
  );
}

async function complete(place: Place, outcome: SliceOutcome): Promise<void> {
  const { upload_id, mark, parts } = stateOf(outcome);
  if (await place.store.completeUpload(outcome.name, upload_id, parts, factsOf(place, mark)))
    return;
  // An earlier call with a lost answer has completed it, or it is gone.
  if (!(await isCompleted(place, outcome)))
    throw new RetryableError(
      'slice_lost',
      `The upload of ${outcome.name} ended before Sluice could complete it. Sluice uploads ` +
        'it again.',
    );
}

async function abort(place: Place): Promise<void> {
  await endUploads(place, []);
  if (!(await isCommitted(place))) await removeObjects(place, () => true);
}

/** Ends the open uploads of this delivery, of any attempt, except those of the given slices. */
async function endUploads(place: Place, kept: SliceOutcome[]): Promise<void> {
  const uploads = kept.map((outcome) => ({
    key: outcome.name,
    upload_id: stateOf(outcome).upload_id,
  }));
  const { prefix, isOurs } = keysOf(place);
  await unlessUnavailable(place, () => place.store.endUploads(prefix, uploads, isOurs));
}

/**
 * Returns the keys of the delivery: with partition folders, they lie anywhere below the folder of
 * the stem, among the keys of all other deliveries.
 */
function keysOf({ stem, config }: Place): { prefix: string; isOurs: (key: string) => boolean } {
  if (!hasFolders(config)) return { prefix: stem, isOurs: () => true };
  const folder = folderPart(stem);
  return { prefix: folder === '' ? '' : `${folder}/`, isOurs: (key) => isOfStem(key, stem) };
}

async function removeObjects(place: Place, isUnwanted: (key: string) => boolean): Promise<void> {
  const remove = async () => {
    const { prefix, isOurs } = keysOf(place);
    for await (const key of place.store.list(prefix, { direct: false }))
      if (isOurs(key) && isUnwanted(key)) await place.store.remove(key);
  };
  await (place.delivery.erased === undefined ? unlessUnavailable(place, remove) : remove());
}

/** Clean-up or reads back must not fail a delivery whose access key lacks the right. */
async function unlessUnavailable<Result>(
  place: Place,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!place.store.faults.isUnavailable(error)) throw error;
    place.log.info(
      { err: error, delivery_id: place.delivery.delivery_id },
      'the store does not allow this; the delivery continues without it',
    );
    return undefined;
  }
}
