import { randomUUID } from 'node:crypto';
import { Readable, pipeline } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createGzip } from 'node:zlib';
import type {
  Delivery,
  DestinationDeps,
  Slice,
  SliceOutcome,
} from '../../model/destination/destination.ts';
import { withStoreFaults } from '../object_store/faults.ts';
import { notingProgress } from '../object_store/object_store.ts';
import type { ObjectStore } from '../object_store/object_store.ts';
import { placeOf } from '../object_store/aws_role.ts';
import { openBucket } from '../object_store/s3_bucket.ts';
import { orEndUpload, uploadParts } from '../object_store/upload.ts';
import { measured } from '../sql_tables/measured.ts';
import { stageLost, stagedState } from '../sql_tables/stages.ts';
import { bucketOf } from './config.ts';
import type { RedshiftConfig } from './config.ts';
import { csvLine, rowsOf } from './rows.ts';
import type { Row, RowLimit } from './rows.ts';
import { stageMaker } from './stage.ts';
import type { Stage, StagePlace } from './stage.ts';
import { stage } from './table.ts';
import { manifestOf, copyStatement, withoutSecrets } from './copy_statement.ts';

/** A staged object: its key, our mark of its upload, its size in bytes, and that of its slice. */
type ObjectState = { key: string; mark: string; object_bytes: number; slice_bytes: number };

const row_limit: RowLimit = {
  bytes: 4 * 1024 * 1024,
  advice: 'COPY takes rows of 4 MB; leave such events out at their source, or use the mode INSERT.',
};

/** The bucket of the mode COPY, and its folder for one delivery. */
type StagedPlace = {
  store: ObjectStore;
  folder: string;
  null_marker: string;
  /** Names this attempt. */
  holder: string;
  /** True once the bucket records that this attempt holds the delivery. */
  is_held: boolean;
};

/**
 * Opens the stage of the mode COPY: slices wait as objects in the bucket, one each, and survive the
 * session; a manifest lists the objects to load.
 */
export function copyStage(
  config: RedshiftConfig,
  delivery: Delivery,
  deps: DestinationDeps,
): Stage {
  const store = notingProgress(
    openBucket(placeOf(bucketOf(config), deps), deps.outbound, deps.signal),
    deps.noteProgress,
  );
  const create = stageMaker();
  const folder = stagedFolder(config, delivery.delivery_id);
  const at: StagedPlace = {
    store,
    folder,
    null_marker: nullMarker(delivery.delivery_id),
    holder: randomUUID(),
    is_held: false,
  };
  return {
    recover: (_place, outcomes) => withStoreFaults(store, () => recover(at, outcomes)),
    write: (place, slice, bytes) => write(at, place, slice, bytes, deps),
    load: async (place, outcomes) => {
      await create(place);
      await load(at, place, outcomes);
      return stage;
    },
    clear: () =>
      withStoreFaults(store, async () => {
        at.is_held = false;
        await removeBut(at, new Set());
      }),
  };
}

/** Returns the folder of the objects of one delivery or test, with its slash. */
export function stagedFolder(config: RedshiftConfig, id: string): string {
  const prefix = (config.prefix ?? '').replaceAll(/^\/+|\/+$/g, '');
  return `${prefix === '' ? '' : `${prefix}/`}sluice_stage/${id}/`;
}

/** Returns the text for null in the objects of one delivery or test. */
export function nullMarker(id: string): string {
  return `sluice-null-${id}`;
}

function stateOf(outcome: SliceOutcome): ObjectState {
  return outcome.state as ObjectState;
}

function holderKey({ folder }: StagedPlace): string {
  return `${folder}holder`;
}

/** Records in the bucket that this attempt holds the delivery from now on. */
async function hold(at: StagedPlace): Promise<void> {
  if (at.is_held) return;
  await at.store.put(holderKey(at), at.holder);
  at.is_held = true;
}

/**
 * Call it after creating an object. An attempt that was believed dead may have created its object
 * after the new holder had removed everything, at its beginning or its end. So an attempt that no
 * longer holds the delivery removes its own object. Throws `slice_lost` then.
 */
async function requireHeld(at: StagedPlace, key: string): Promise<void> {
  const content = await at.store.read(holderKey(at));
  if (content !== undefined && (await text(content)) === at.holder) return;
  await at.store.remove(key);
  throw stageLost();
}

async function recover(at: StagedPlace, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  await hold(at);
  const surviving: SliceOutcome[] = [];
  for (const outcome of outcomes) {
    // A slice of the mode INSERT left nothing in the bucket.
    if (outcome.state === null || stagedState(outcome) !== undefined) continue;
    const { key, mark, object_bytes, slice_bytes } = stateOf(outcome);
    const found = await at.store.describe(key);
    if (found?.bytes === object_bytes && found.mark === mark && slice_bytes === outcome.bytes)
      surviving.push(outcome);
  }
  await removeBut(
    at,
    new Set([holderKey(at), ...surviving.map((outcome) => stateOf(outcome).key)]),
  );
  return surviving;
}

async function removeBut({ store, folder }: StagedPlace, kept: ReadonlySet<string>): Promise<void> {
  await store.endUploads(folder, []);
  for await (const key of store.list(folder, { direct: false }))
    if (!kept.has(key)) await store.remove(key);
}

/**
 * The key is new each time, so that a worker that was believed dead never writes to our objects.
 */
async function write(
  at: StagedPlace,
  { delivery, supers }: StagePlace,
  slice: Slice,
  bytes: Readable,
  deps: DestinationDeps,
) {
  const { store, folder, null_marker } = at;
  const mark = randomUUID();
  const key = `${folder}${String(slice.number).padStart(4, '0')}-${mark}.csv.gz`;
  const facts = { mark, content_type: 'application/gzip' };
  const counted = { records: 0, slice_bytes: 0, object_bytes: 0 };
  const rows = rowsOf(
    delivery.columns,
    supers,
    measured(bytes, (size) => (counted.slice_bytes += size)),
    row_limit,
  );
  const object = measured(
    compressed(csvOf(rows, null_marker, counted)),
    (size) => (counted.object_bytes += size),
  );
  await withStoreFaults(store, () => hold(at));
  const upload_id = await withStoreFaults(store, () => store.startUpload(key, facts));
  const send = async () => {
    const parts = await uploadParts(store, key, upload_id, object);
    await withStoreFaults(store, async () => {
      // The upload is missing after a completion with a lost answer, or if another attempt has
      // ended it.
      const isThere =
        (await store.completeUpload(key, upload_id, parts, facts)) ||
        (await store.describe(key))?.mark === mark;
      if (!isThere) throw stageLost();
      await requireHeld(at, key);
    });
    return {
      records: counted.records,
      state: { key, mark, object_bytes: counted.object_bytes, slice_bytes: counted.slice_bytes },
    };
  };
  return orEndUpload(store, { key, upload_id }, send, deps.log);
}

async function* csvOf(
  rows: AsyncIterable<Row>,
  null_marker: string,
  counted: { records: number },
): AsyncGenerator<string> {
  for await (const row of rows) {
    counted.records += 1;
    yield csvLine(row, null_marker);
  }
}

/** The reader gets the error of the lines unchanged. */
function compressed(lines: AsyncIterable<string>): Readable {
  const gzip = createGzip({ level: 6 });
  pipeline(Readable.from(lines), gzip, () => undefined);
  return gzip;
}

async function load(
  at: StagedPlace,
  { connection, config, delivery }: StagePlace,
  outcomes: SliceOutcome[],
): Promise<void> {
  const { store, folder, null_marker } = at;
  // An earlier failed call may have loaded it already.
  await connection.rows(`DELETE FROM ${stage}`);
  const keys = outcomes
    .filter((outcome) => outcome.records > 0)
    .map((outcome) => stateOf(outcome).key);
  // COPY refuses a manifest without entries.
  if (keys.length === 0) return;
  const manifest = `${folder}manifest-${randomUUID()}.json`;
  await withStoreFaults(store, async () => {
    await store.put(manifest, manifestOf(config, keys));
    await requireHeld(at, manifest);
  });
  await withoutSecrets(config, () =>
    connection.rows(
      copyStatement(config, { target: stage, columns: delivery.columns, manifest, null_marker }),
    ),
  );
}
