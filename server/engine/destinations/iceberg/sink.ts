import { pipeline } from 'node:stream';
import type { Readable } from 'node:stream';
import type {
  Delivery,
  EndOfRun,
  Json,
  Manifest,
  Sink,
  Slice,
  SliceOutcome,
  SortedColumn,
} from '../../model/destination/destination.ts';
import { isOfTable } from '../../model/destination/partition.ts';
import type { TableField } from '../../model/destination/partition.ts';
import type { FileStatistics } from '../lake/file_statistics.ts';
import { requireSame } from '../lake/listed_files.ts';
import { stampParquet } from '../lake/stamp_parquet.ts';
import { withCertainty } from '../../model/destination/errors.ts';
import { isForeign } from './catalogs/catalog_config.ts';
import type { CatalogConfig } from './catalogs/catalog_config.ts';
import { liveFiles } from './live_files.ts';
import { prepareTable } from './table.ts';
import type { PreparedTable } from './table.ts';
import { showFiles } from './show.ts';
import type { StoredFile } from './show.ts';
import type { World } from './world.ts';

/** A slice as it is stored: `file` is how its place finds it again. */
type State = {
  file: Json;
  table_uuid: string;
  statistics: FileStatistics;
  partition?: (string | null)[];
  spec_id?: number;
  sort_order_id?: number;
};

/**
 * Opens a delivery into a table. `files` is the sink of its data files in their place: nobody sees
 * them before the table names them. Guarantee besides those of `Sink`: a table of our own catalog
 * changes in the transaction that ends the run.
 */
export function openTableSink(
  world: World,
  delivery: Delivery,
  { files, order }: { files: Sink; order: readonly SortedColumn[] },
): Sink {
  let table: Promise<PreparedTable> | undefined;
  const prepared = (fields: readonly TableField[]) =>
    (table ??= prepareTable(world, delivery, { fields, order }));
  return {
    isCommitted: () => isShown(world, delivery),
    recover: async (outcomes) => {
      const uuid = (await world.catalog.load())?.metadata['table-uuid'];
      const ours = outcomes.filter((outcome) => stateOf(outcome).table_uuid === uuid);
      const whole = await files.recover(ours.map(fileOutcome));
      const numbers = new Set(whole.map(({ number }) => number));
      return ours.filter(({ number }) => numbers.has(number));
    },
    write: async (slice, bytes) => {
      const { fields, values } = partitionOf(slice);
      const found = await prepared(fields);
      const stored = await storeFile(found, files, slice, bytes);
      const { name, bytes: size, sha256, statistics, file } = stored;
      const { uuid: table_uuid, spec_id, sort_order_id } = found;
      const state = { file, table_uuid, statistics, partition: values, spec_id, sort_order_id };
      return { name, state, bytes: size, sha256 };
    },
    commit: async (outcomes, manifest, end = (show) => world.deps.db!.transaction(show)) => {
      if (outcomes.length === 0) await prepared([]);
      await commit(world, delivery, files, { outcomes, manifest, end });
    },
    abort: (outcomes) => abortUnshown(world, delivery, files, outcomes.map(fileOutcome)),
    close: () => files.close(),
  };
}

/** Does the table show the delivery? */
export function isShown({ catalog }: World, delivery: Delivery): Promise<boolean> {
  return catalog.whileHeld(delivery, async (shown) => shown === 'shown');
}

/**
 * Returns true if a commit to another maker's catalog may have been sent: the files are in place,
 * with their receipt. Its answer may be lost, so they stay.
 */
async function mayBeShown({ config }: World, files: Sink): Promise<boolean> {
  return isForeign(config as CatalogConfig) && (await files.isCommitted());
}

/** Removes the files of a delivery that no snapshot has. */
export function abortUnshown(
  world: World,
  delivery: Delivery,
  files: Sink,
  outcomes: SliceOutcome[],
): Promise<void> {
  return world.catalog.whileHeld(delivery, async (shown) => {
    if (shown === 'absent' && !(await mayBeShown(world, files))) await files.abort(outcomes);
  });
}

/** Shows the files in their place, where no reader looks for them yet. */
export function placeFiles(
  files: Sink,
  outcomes: SliceOutcome[],
  manifest: Manifest,
): Promise<void> {
  return withCertainty(
    () => files.commit(outcomes, manifest),
    () => false,
  );
}

/** The fields of the partition of a slice, and their values; none without partitions. */
export function partitionOf({ partition }: Slice): {
  fields: readonly TableField[];
  values: (string | null)[];
} {
  return partition !== undefined && isOfTable(partition) ? partition : { fields: [], values: [] };
}

/** A data file in its place, not shown yet. */
export type DataFileFacts = {
  name: string;
  file: Json;
  records: number;
  bytes: number;
  sha256: string;
  statistics: FileStatistics;
};

/** Stores the bytes of a Parquet file in its place, with the field ids of the table. */
export async function storeFile(
  { ids }: Pick<PreparedTable, 'ids'>,
  files: Sink,
  { number, records }: Pick<Slice, 'number' | 'records'>,
  bytes: Readable,
): Promise<DataFileFacts> {
  const { stage, finish } = stampParquet(ids);
  // The error reaches the reader of the stage, which `pipeline` destroys with it.
  const { name, state } = await files.write(
    { number, records },
    pipeline(bytes, stage, () => undefined),
  );
  return { name, file: state, ...finish() };
}

async function commit(
  world: World,
  delivery: Delivery,
  files: Sink,
  { outcomes, manifest, end }: { outcomes: SliceOutcome[]; manifest: Manifest; end: EndOfRun },
): Promise<void> {
  if (await isShown(world, delivery))
    requireSame(await liveFiles(world), (name) => world.root + name, outcomes);
  await placeFiles(files, outcomes.map(fileOutcome), manifest);
  const table_uuid = outcomes.map((outcome) => stateOf(outcome).table_uuid).at(0);
  const stored = outcomes.map((outcome): StoredFile => {
    const { statistics, partition = [], spec_id = 0, sort_order_id = 0 } = stateOf(outcome);
    const { name, records, bytes } = outcome;
    return { name, records, bytes, statistics, partition, spec_id, sort_order_id };
  });
  const removed = delivery.generation === undefined ? new Set<string>() : ('all' as const);
  await showFiles(world, { delivery, table_uuid, files: stored, removed }, end);
}

function stateOf({ state }: SliceOutcome): State {
  return state as State;
}

function fileOutcome(outcome: SliceOutcome): SliceOutcome {
  return { ...outcome, state: stateOf(outcome).file };
}
