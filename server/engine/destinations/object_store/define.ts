import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Static, TObject } from 'typebox';
import { runSteps } from '../../model/destination/timed_steps.ts';
import { urlHost } from '../../../platform/outbound/url_host.ts';
import { throwIfStopped } from '../../model/destination/stop.ts';
import { KnownError, RetryableError } from '../../model/destination/errors.ts';
import type {
  CheckStep,
  DestinationDefinition,
  DestinationDeps,
} from '../../model/destination/destination.ts';
import {
  fileColumnFaults,
  fileEncoding,
  fileSliceBytes,
  partitionKeys,
} from '../formats/file_config.ts';
import type { FileConfig } from '../formats/file_config.ts';
import { heldReceipts } from '../formats/held_receipts.ts';
import { constantFolder } from '../formats/naming.ts';
import { sealFiles } from '../formats/file_seals.ts';
import { readStoredText } from '../formats/file_store.ts';
import type { FileStore } from '../formats/file_store.ts';
import type { SmallFiles } from '../lake/place.ts';
import { findForeignFiles } from '../formats/foreign_files.ts';
import { compareFiles, verifyFiles } from '../formats/verify_files.ts';
import { withStoreFaults } from './faults.ts';
import { notingProgress } from './object_store.ts';
import type { ListOptions, ObjectStore, StoreFaults } from './object_store.ts';
import { openObjectSink } from './sink.ts';
import { uploadWhole } from './upload.ts';

/**
 * The definition of one kind of object store. `openStore` makes no request yet; its errors tell the
 * user what to do.
 */
type ObjectStoreType<Schema extends TObject> = Pick<
  DestinationDefinition<Schema>,
  | 'type'
  | 'label'
  | 'config'
  | 'package'
  | 'secrets'
  | 'where'
  | 'connection'
  | 'only_with'
  | 'validate'
  | 'place'
> & {
  openStore(config: Static<Schema>, deps: DestinationDeps): Promise<ObjectStore>;
};

/**
 * Defines the destination of a kind of object store. Guarantee: all kinds name, encode, commit,
 * check and verify in the same way and differ only in their store. The schema has `prefix` and the
 * `placed_file_keys`.
 */
export function defineObjectStore<Schema extends TObject>({
  openStore,
  ...definition
}: ObjectStoreType<Schema>): DestinationDefinition<Schema> {
  const opened = async (config: Static<Schema>, deps: DestinationDeps) =>
    fileStoreOf(await openStore(config, deps));
  return {
    ...definition,
    // The stores of the large providers need no such bound; one at a custom endpoint may.
    host: (config) => urlHost((config as { endpoint_url?: unknown }).endpoint_url),
    column_set: 'files',
    erases: 'anew',
    encoding: (config) => fileEncoding(filesOf(config)),
    sliceBytes: (config) => fileSliceBytes(filesOf(config)),
    partitionKeys: (config) => partitionKeys(filesOf(config)),
    columnFaults: (columns, config) => fileColumnFaults(columns, filesOf(config)),
    open: async (config, delivery, deps) => {
      throwIfStopped(deps.signal);
      return openObjectSink(
        notingProgress(await openStore(config, deps), deps.noteProgress),
        filesOf(config),
        delivery,
        deps.log,
      );
    },
    check: async (config, _columns, deps) => check(openStore(config, deps), filesOf(config), deps),
    verify: async (config, delivered, source, deps) =>
      verifyFiles(await opened(config, deps), fileEncoding(filesOf(config)), delivered, source),
    verify_parts: {
      compare: async (config, delivered, source, deps) =>
        compareFiles(await opened(config, deps), fileEncoding(filesOf(config)), delivered, source),
      findForeign: async (config, accounted, deps) =>
        findForeignFiles(await opened(config, deps), accounted),
    },
    seals: async (config, delivered, _source, deps) =>
      sealFiles(await opened(config, deps), delivered),
    receipts: async function* (config, deps, wanted) {
      const store = await openStore(config, deps);
      yield* explained(
        store,
        heldReceipts(
          { read: reading(store), listAll: (folder) => listed(store, folder, { direct: false }) },
          filesOf(config).prefix,
          wanted,
        ),
      );
    },
  };
}

/**
 * Returns the small files of a store, for tables: written in one step, with errors that tell the
 * user what to do.
 */
export async function smallFiles(opening: Promise<ObjectStore>): Promise<SmallFiles> {
  const store = await opening;
  return {
    put: (name, content) => withStoreFaults(store, () => store.put(name, content)),
    putNew: (name, content) => withStoreFaults(store, () => store.putNew(name, content)),
    read: reading(store),
    list: (folder, after) =>
      explained(
        store,
        listed(store, folder, { direct: true, ...(after === undefined ? {} : { after }) }),
      ),
    remove: (name) => withStoreFaults(store, () => store.remove(name)),
    listAll: (folder) => explained(store, listed(store, folder, { direct: false })),
    writtenAt: (name) =>
      withStoreFaults(store, async () => (await store.describe(name))?.written_at_ms),
  };
}

/** Returns the store in the form that a comparison reads. */
function fileStoreOf(store: ObjectStore): FileStore {
  return {
    read: reading(store),
    list: (folder) => explained(store, listed(store, folder, { direct: true })),
    listFacts: (folder, after) =>
      explained(store, store.listFacts(belowOf(folder), { direct: true, after })),
    describe: (name) => withStoreFaults(store, () => store.describe(name)),
    has_receipts: store.is_table_bucket !== true,
  };
}

const reading = (store: ObjectStore) => (name: string) =>
  withStoreFaults(store, () => store.read(name));

const listed = (store: ObjectStore, folder: string, options: ListOptions) =>
  store.list(belowOf(folder), options);

const belowOf = (folder: string) => (folder === '' ? '' : `${folder}/`);

/** Yields the items, and throws errors translated by the store. */
async function* explained<Item>(
  store: ObjectStore,
  given: AsyncIterable<Item>,
): AsyncGenerator<Item> {
  try {
    yield* given;
  } catch (error) {
    throw store.faults.explain(error);
  }
}

/** The compiler cannot check the values of a generic schema. */
function filesOf(config: unknown): FileConfig {
  return config as FileConfig;
}

/** Returns the keys of the two objects of a connection test, which a table bucket accepts too. */
function checkedKeys(config: FileConfig, id: string): [string, string] {
  const below = belowOf(constantFolder(config.prefix));
  return 'is_table_bucket' in config
    ? [`${below}data/sluice-check-${id}.parquet`, `${below}metadata/sluice-check-${id}.avro`]
    : [`${below}.sluice-check-${id}`, `${below}.sluice-check-${id}-manifest`];
}

async function check(
  opening: Promise<ObjectStore>,
  config: FileConfig,
  deps: DestinationDeps,
): Promise<CheckStep[]> {
  const text = randomUUID();
  const is_table_bucket = 'is_table_bucket' in config;
  const [key, manifest] = checkedKeys(config, text);
  let isLeft = false;
  let faults: StoreFaults | undefined;
  const remove = async () => {
    const store = await opening;
    await store.remove(key);
    await store.remove(manifest);
    isLeft = false;
    return 'The objects are gone again.';
  };
  const write = async () => {
    const store = await opening;
    ({ faults } = store);
    isLeft = true;
    const bytes = Readable.from([Buffer.from(text)]);
    await uploadWhole(store, key, bytes, { content_type: 'text/plain', log: deps.log });
    // The manifest of a delivery is written in one step.
    await store.put(manifest, text);
    return (
      'One object was uploaded in parts, like the files of a run, and one in a single step, like ' +
      'its receipt.'
    );
  };
  const read = async () => {
    const store = await opening;
    for (const one of [key, manifest])
      if ((await readStoredText(store, one)) !== text)
        throw new RetryableError('store_fault', 'The object has changed since the delivery.');
    return 'The same text came back.';
  };
  const reach = async () => {
    const store = await opening;
    ({ faults } = store);
    await store.find();
    return 'The bucket exists.';
  };
  const steps = [
    // A catalog's credentials reach a folder, and may not query the bucket.
    ...('aws_session_token' in config || is_table_bucket
      ? []
      : [{ name: 'Reach the bucket', run: reach }]),
    { name: 'Write an object', run: write },
    { name: 'Read it back', run: read },
    // The service of a table bucket removes the files, with the table.
    ...(is_table_bucket ? [] : [{ name: 'Remove it', run: remove }]),
  ];
  const results = await runSteps(steps, deps, (error) => explain(faults, error, deps));
  if (isLeft)
    await remove().catch((error: unknown) =>
      deps.log.warn({ err: error }, 'the object of a connection test could not be removed'),
    );
  return results;
}

function explain(faults: StoreFaults | undefined, error: unknown, deps: DestinationDeps): string {
  deps.log.info({ err: error }, 'connection test failed');
  const explained = faults === undefined ? error : faults.explain(error);
  return explained instanceof KnownError
    ? explained.message
    : 'Sluice does not understand the answer of the store. Check that its address and name are ' +
        'right; the server log says more.';
}
