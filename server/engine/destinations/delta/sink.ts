import { pipeline } from 'node:stream';
import type { Readable } from 'node:stream';
import { withCertainty } from '../../model/destination/errors.ts';
import type {
  Delivery,
  Json,
  Manifest,
  Sink,
  Slice,
  SliceOutcome,
  WrittenSlice,
} from '../../model/destination/destination.ts';
import type { FileStatistics } from '../lake/file_statistics.ts';
import { requireSame } from '../lake/listed_files.ts';
import { stampParquet } from '../lake/stamp_parquet.ts';
import { receiptsOfSlice } from '../formats/foreign_files.ts';
import { removeErased, replaceFiles } from './erase.ts';
import { fence, requireSuitable, showFiles } from './commit.ts';
import type { OpenTable } from './commit.ts';
import { appIdOf, isShown } from './delivered.ts';
import { keepLog } from './keep_log.ts';
import { loadTable, refresh } from './log.ts';
import { requirePutIfAbsent } from './probe.ts';
import { columnIds } from './statistics.ts';
import { filesIn } from './verify.ts';
import { nameInTable } from './world.ts';
import type { World } from './world.ts';

/** A slice as it is stored: `file` is how its place finds it again. */
type State = { file: Json; statistics: FileStatistics };

/**
 * Opens a delivery into a Delta table. `files` is the sink of its data files in their place: nobody
 * sees them before the log names them.
 */
export function openTableSink(world: World, delivery: Delivery, files: Sink): Sink {
  let loading: Promise<OpenTable> | undefined;
  let preparing: Promise<void> | undefined;
  const load = () =>
    (loading ??= loadTable(world.log).then((state) => ({ state, began: state.version })));
  const prepared = () =>
    (preparing ??= load().then(({ state }) => prepare(world, state, delivery)));
  const isThere = async () => {
    const { state } = await load();
    await refresh(world.log, state);
    return isShown(state, delivery);
  };
  return {
    isCommitted: isThere,
    recover: async (outcomes) => {
      await prepared();
      const whole = await files.recover(outcomes.map(fileOutcome));
      const numbers = new Set(whole.map(({ number }) => number));
      return outcomes.filter(({ number }) => numbers.has(number));
    },
    write: async (slice, bytes) => {
      await prepared();
      return writeSlice(delivery, files, slice, bytes);
    },
    commit: (outcomes, manifest) => commit(world, delivery, files, { load, outcomes, manifest }),
    abort: async (outcomes) => {
      const { state } = await load();
      const is_there = await isThere();
      if (delivery.erased === undefined && is_there) return;
      // The receipt is stored before the entry, so with it a request may be on its way.
      if (await files.isCommitted()) {
        if (delivery.erased !== undefined || (await fence(world, delivery, state))) return;
        await removeFiles(world, outcomes);
      }
      await files.abort(outcomes.map(fileOutcome));
    },
    close: () => files.close(),
  };
}

/** Finds what would refuse the rows before they are written; tries the store at the first use. */
async function prepare(world: World, state: OpenTable['state'], delivery: Delivery): Promise<void> {
  if (state.version === -1 && delivery.erased === undefined)
    await world.deps.refuseLoss?.(world.folder);
  requireSuitable(world, state, delivery);
  if (!state.txns.has(appIdOf(delivery.batch_export_id)))
    await requirePutIfAbsent(world.log.files, world.folder);
}

/** Removes the data files and the receipt of a delivery that no entry will ever name. */
async function removeFiles({ log }: World, outcomes: SliceOutcome[]): Promise<void> {
  for (const { name } of outcomes)
    for (const one of [...(receiptsOfSlice(name) ?? []), name]) await log.files.remove(one);
}

async function writeSlice(
  { columns }: Delivery,
  files: Sink,
  slice: Slice,
  bytes: Readable,
): Promise<WrittenSlice> {
  const { stage, finish } = stampParquet(columnIds(columns));
  // The error reaches the reader of the stage, which `pipeline` destroys with it.
  const { name, state } = await files.write(
    slice,
    pipeline(bytes, stage, () => undefined),
  );
  const { statistics, ...stored } = finish();
  return { name, state: { file: state, statistics }, ...stored };
}

async function commit(
  world: World,
  delivery: Delivery,
  files: Sink,
  given: { load: () => Promise<OpenTable>; outcomes: SliceOutcome[]; manifest: Manifest },
): Promise<void> {
  const { load, outcomes, manifest } = given;
  let mayShow = false;
  await withCertainty(
    async () => {
      const table = await load();
      await refresh(world.log, table.state);
      mayShow = isShown(table.state, delivery);
      const is_erased = delivery.erased !== undefined;
      if (mayShow && !is_erased)
        requireSame(filesIn(table.state), (name) => nameInTable(world, name), outcomes);
      await files.commit(outcomes.map(fileOutcome), manifest);
      if (outcomes.length === 0 && !is_erased) return;
      const stored = outcomes.map((outcome) => ({
        name: nameInTable(world, outcome.name),
        records: outcome.records,
        bytes: outcome.bytes,
        statistics: stateOf(outcome).statistics,
      }));
      const show = is_erased ? replaceFiles : showFiles;
      await show(world, delivery, { ...table, files: stored }, () => void (mayShow = true));
      if (is_erased) await removeErased(world, delivery, table.state, manifest);
      await keepLog(world, table.state);
    },
    () => mayShow,
  );
}

function stateOf({ state }: SliceOutcome): State {
  return state as State;
}

function fileOutcome(outcome: SliceOutcome): SliceOutcome {
  return { ...outcome, state: stateOf(outcome).file };
}
