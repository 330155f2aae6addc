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
} from '../../model/destination/destination.ts';
import type { FileStatistics } from '../lake/file_statistics.ts';
import { requireSame } from '../lake/listed_files.ts';
import { stampParquet } from '../lake/stamp_parquet.ts';
import { liveFiles } from './live_files.ts';
import { prepareTable } from './table.ts';
import type { PreparedTable } from './table.ts';
import { showFiles } from './show.ts';
import type { World } from './world.ts';

/** A slice as it is stored: `file` is how its place finds it again. */
type State = { file: Json; table_uuid: string; statistics: FileStatistics };

/**
 * Opens a delivery into a table. `files` is the sink of its data files in their place: nobody sees
 * them before the table names them. Guarantee besides those of `Sink`: a table of our own catalog
 * changes in the transaction that ends the run.
 */
export function openTableSink(world: World, delivery: Delivery, files: Sink): Sink {
  let table: Promise<PreparedTable> | undefined;
  const prepared = () => (table ??= prepareTable(world, delivery));
  return {
    isCommitted: () => isShown(world, delivery),
    recover: async (outcomes) => {
      const { uuid } = await prepared();
      const ours = outcomes.filter((outcome) => stateOf(outcome).table_uuid === uuid);
      const whole = await files.recover(ours.map(fileOutcome));
      const numbers = new Set(whole.map(({ number }) => number));
      return ours.filter(({ number }) => numbers.has(number));
    },
    write: async (slice, bytes) => writeSlice(await prepared(), files, slice, bytes),
    commit: (outcomes, manifest, end = (show) => world.deps.db!.transaction(show)) =>
      commit(world, delivery, files, { outcomes, manifest, end }),
    abort: (outcomes) =>
      world.catalog.whileHeld(delivery, async (shown) => {
        if (shown === 'absent') await files.abort(outcomes.map(fileOutcome));
      }),
    close: () => files.close(),
  };
}

function isShown({ catalog }: World, delivery: Delivery): Promise<boolean> {
  return catalog.whileHeld(delivery, async (shown) => shown === 'shown');
}

async function writeSlice(
  { uuid, ids }: PreparedTable,
  files: Sink,
  slice: Slice,
  bytes: Readable,
): Promise<{ name: string; state: Json; bytes: number; sha256: string }> {
  const { stage, finish } = stampParquet(ids);
  // The error reaches the reader of the stage, which `pipeline` destroys with it.
  const { name, state } = await files.write(
    slice,
    pipeline(bytes, stage, () => undefined),
  );
  const { statistics, ...stored } = finish();
  return { name, state: { file: state, table_uuid: uuid, statistics }, ...stored };
}

async function commit(
  world: World,
  delivery: Delivery,
  files: Sink,
  { outcomes, manifest, end }: { outcomes: SliceOutcome[]; manifest: Manifest; end: EndOfRun },
): Promise<void> {
  if (await isShown(world, delivery))
    requireSame(await liveFiles(world), (name) => world.root + name, outcomes);
  await files.commit(outcomes.map(fileOutcome), manifest);
  const [first] = outcomes;
  if (first === undefined) return;
  const { table_uuid } = stateOf(first);
  const data_files = outcomes.map((outcome) => ({
    path: world.root + outcome.name,
    records: outcome.records,
    bytes: outcome.bytes,
    partition: [],
    statistics: stateOf(outcome).statistics,
  }));
  await showFiles(world, { delivery, table_uuid, files: data_files }, end);
}

function stateOf({ state }: SliceOutcome): State {
  return state as State;
}

function fileOutcome(outcome: SliceOutcome): SliceOutcome {
  return { ...outcome, state: stateOf(outcome).file };
}
