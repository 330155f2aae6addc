import type { Readable } from 'node:stream';
import { withCertainty } from '../../model/destination/errors.ts';
import type {
  Delivery,
  Json,
  Manifest,
  Sink,
  Slice,
  SliceOutcome,
  SortedColumn,
  WrittenSlice,
} from '../../model/destination/destination.ts';
import type { TableField } from '../../model/destination/partition.ts';
import type { FileStatistics } from '../lake/file_statistics.ts';
import { requireSame } from '../lake/listed_files.ts';
import { openMergeSink } from '../lake/merge/merge_sink.ts';
import { isMerging } from '../lake/merge/state.ts';
import { partitionOf, storeFile } from '../lake/stored_files.ts';
import { receiptsOfSlice } from '../formats/foreign_files.ts';
import { fence, requireSuitable, showFiles } from '../lake/delta_log/commit.ts';
import type { OpenTable } from '../lake/delta_log/commit.ts';
import { appIdOf, isShown } from '../lake/delta_log/delivered.ts';
import { partitionFolders } from '../lake/delta_log/folders.ts';
import { fieldsOfTable } from '../lake/delta_log/layout.ts';
import { keepLog } from '../lake/delta_log/keep_log.ts';
import { loadTable, refresh } from '../lake/delta_log/log.ts';
import { openMergedTable } from './merged_table.ts';
import { requirePutIfAbsent } from './probe.ts';
import { columnIds, statisticsText } from '../lake/delta_log/statistics.ts';
import { filesIn } from './verify.ts';
import { nameInTable } from '../lake/delta_log/world.ts';
import type { World } from '../lake/delta_log/world.ts';

/** A slice as it is stored: `file` lets its place find it again. */
type State = {
  file: Json;
  statistics: FileStatistics;
  /** The fields and the values of its partition; slices of older servers have none. */
  fields?: TableField[];
  partition?: (string | null)[];
};

/** A delivery that one attempt holds. */
type Opened = {
  world: World;
  delivery: Delivery;
  files: Sink;
  load(): Promise<OpenTable>;
  /** Checks for refusals before the rows are written. */
  prepared(fields: readonly TableField[]): Promise<void>;
};

/**
 * Opens a delivery into a Delta table. `files` is the sink of its data files in their place: nobody
 * sees them before the log names them.
 */
export function openTableSink(
  world: World,
  delivery: Delivery,
  { files, order }: { files: Sink; order: readonly SortedColumn[] },
): Sink {
  let loading: Promise<OpenTable> | undefined;
  let preparing: Promise<void> | undefined;
  const load = () =>
    (loading ??= loadTable(world.log).then((state) => ({ state, began: state.version })));
  const prepared = (fields: readonly TableField[]) =>
    (preparing ??= load().then(({ state }) => prepare(world, state, delivery, fields)));
  const opened = { world, delivery, files, load, prepared };
  return isMerging(delivery) ? openMerge({ ...opened, delivery }, order) : openAppend(opened);
}

function openAppend(opened: Opened): Sink {
  const { files, prepared } = opened;
  return {
    writes_abreast: true,
    isCommitted: () => isThere(opened),
    recover: async (outcomes) => {
      const [first] = outcomes;
      if (first !== undefined) await prepared(stateOf(first).fields ?? []);
      const whole = await files.recover(outcomes.map(fileOutcome));
      const numbers = new Set(whole.map(({ number }) => number));
      return outcomes.filter(({ number }) => numbers.has(number));
    },
    write: async (slice, bytes) => {
      await prepared(partitionOf(slice).fields);
      return writeSlice(opened, slice, bytes);
    },
    commit: (outcomes, manifest) => {
      let mayShow = false;
      return withCertainty(
        () => commit(opened, { outcomes, manifest, noteSent: () => void (mayShow = true) }),
        () => mayShow,
      );
    },
    abort: (outcomes) => abort(opened, outcomes.map(fileOutcome)),
    close: () => files.close(),
  };
}

function openMerge(
  opened: Opened & { delivery: Parameters<typeof openMergeSink>[1]['delivery'] },
  order: readonly SortedColumn[],
): Sink {
  const { world, delivery, files, load, prepared } = opened;
  let mayShow = false;
  const table = openMergedTable(world, delivery, {
    files,
    load,
    prepared,
    abort: (outcomes) => abort(opened, outcomes),
    noteSent: () => void (mayShow = true),
  });
  const sink = openMergeSink(table, { deps: world.deps, delivery, files, order });
  return {
    ...sink,
    commit: (outcomes, manifest) =>
      withCertainty(
        async () => {
          // Only the log shows the rows; the run ends afterwards.
          await sink.commit(outcomes, manifest, async () => undefined);
          await keepLog(world, (await load()).state);
        },
        () => mayShow,
      ),
  };
}

async function isThere({ world, delivery, load }: Opened): Promise<boolean> {
  const { state } = await load();
  await refresh(world.log, state);
  return isShown(state, delivery);
}

/** Removes the files of a missing delivery, and keeps it from being shown later. */
async function abort(opened: Opened, outcomes: SliceOutcome[]): Promise<void> {
  const { world, delivery, files, load } = opened;
  const { state } = await load();
  if (await isThere(opened)) return;
  // The receipt is stored before the entry, so a stored one means that a request may be pending.
  if (await files.isCommitted()) {
    if (await fence(world, delivery, state)) return;
    await removeFiles(world, outcomes);
  }
  await files.abort(outcomes);
}

/** Checks for refusals before the rows are written; tests the store at the first use. */
async function prepare(
  world: World,
  state: OpenTable['state'],
  delivery: Delivery,
  fields: readonly TableField[],
): Promise<void> {
  if (state.version === -1) await world.deps.refuseLoss?.(world.folder);
  requireSuitable(world, state, delivery, fields);
  if (!state.txns.has(appIdOf(delivery.batch_export_id)))
    await requirePutIfAbsent(world.log.files, world.folder);
}

/** Removes the data files and the receipt of a delivery that no entry will ever name. */
async function removeFiles({ log }: World, outcomes: SliceOutcome[]): Promise<void> {
  for (const { name } of outcomes)
    for (const one of [...(receiptsOfSlice(name) ?? []), name]) await log.files.remove(one);
}

async function writeSlice(
  { world, delivery: { columns }, files }: Opened,
  slice: Slice,
  bytes: Readable,
): Promise<WrittenSlice> {
  const { fields, values: partition } = partitionOf(slice);
  const folders = partitionFolders(world, fields, partition, columns);
  const stored = await storeFile(columnIds(columns), files, slice, bytes, folders);
  const { name, file, statistics, bytes: size, sha256 } = stored;
  const state = { file, statistics, fields: [...fields], partition };
  return { name, state, bytes: size, sha256 };
}

type Committed = { outcomes: SliceOutcome[]; manifest: Manifest; noteSent: () => void };

async function commit(
  { world, delivery, files, load, prepared }: Opened,
  { outcomes, manifest, noteSent }: Committed,
): Promise<void> {
  const table = await load();
  await refresh(world.log, table.state);
  if (isShown(table.state, delivery)) {
    noteSent();
    requireSame(filesIn(table.state), (name) => nameInTable(world, name), outcomes);
  }
  await files.commit(outcomes.map(fileOutcome), manifest);
  if (outcomes.length === 0 && delivery.generation === undefined) return;
  const own = table.state.metaData === undefined ? [] : fieldsOfTable(table.state.metaData);
  const fields = outcomes.length === 0 ? own : (stateOf(outcomes[0]!).fields ?? []);
  await prepared(fields);
  const stored = outcomes.map((outcome) => {
    const { statistics, partition = [] } = stateOf(outcome);
    const { name, records, bytes } = outcome;
    const stats = statisticsText(delivery.columns, statistics, records);
    return { name: nameInTable(world, name), records, bytes, stats, partition };
  });
  await showFiles(world, delivery, { ...table, fields, files: stored }, noteSent);
  await keepLog(world, table.state);
}

function stateOf({ state }: SliceOutcome): State {
  return state as State;
}

function fileOutcome(outcome: SliceOutcome): SliceOutcome {
  return { ...outcome, state: stateOf(outcome).file };
}
