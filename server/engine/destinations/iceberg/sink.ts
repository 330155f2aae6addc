import type {
  Delivery,
  EndOfRun,
  Manifest,
  Sink,
  SliceOutcome,
  SortedColumn,
} from '../../model/destination/destination.ts';
import type { TableField } from '../../model/destination/partition.ts';
import type { FileStatistics } from '../lake/file_statistics.ts';
import { requireSame } from '../lake/listed_files.ts';
import type { DataFileFacts } from '../lake/stored_files.ts';
import { partitionOf, placeFiles, storeFile } from '../lake/stored_files.ts';
import { isForeign } from './catalogs/catalog_config.ts';
import type { CatalogConfig } from './catalogs/catalog_config.ts';
import { liveFiles } from './live_files.ts';
import { prepareTable } from './table.ts';
import type { PreparedTable } from './table.ts';
import { showFiles } from './show.ts';
import type { StoredFile } from './show.ts';
import type { World } from './world.ts';

/** A slice as it is stored: `file` lets its place find it again. */
type State = {
  file: DataFileFacts['file'];
  table_uuid: string;
  statistics: FileStatistics;
  partition?: (string | null)[];
  spec_id?: number;
  sort_order_id?: number;
};

/**
 * Opens a delivery into a table. `files` is the sink of its data files in their place: nobody sees
 * them before the table names them. Guarantee in addition to those of `Sink`: a table of our own
 * catalog changes in the transaction that ends the run.
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
    writes_abreast: true,
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
      const stored = await storeFile(found.ids, files, slice, bytes);
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

/** Returns true if the table shows the delivery. */
export function isShown({ catalog }: World, delivery: Delivery): Promise<boolean> {
  return catalog.whileHeld(delivery, async (shown) => shown === 'shown');
}

/**
 * Returns true if a commit to another vendor's catalog may have been sent: the files are in place,
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
