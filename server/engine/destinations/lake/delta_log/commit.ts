import { NonRetryableError, RetryableError } from '../../../model/destination/errors.ts';
import type { Delivery } from '../../../model/destination/destination.ts';
import type { TableField } from '../../../model/destination/partition.ts';
import { supersededError } from '../../sql_tables/generations.ts';
import { encodedPath, fence_key } from './actions.ts';
import type { Action, Add, State } from './actions.ts';
import { tableName } from './config.ts';
import { appIdOf, generationIdOf, isShared, isShown, numberOf } from './delivered.ts';
import { partitionValues } from './layout.ts';
import { addEntry, refresh } from './log.ts';
import { fieldsNow, tableActions, unsuitable } from './table.ts';
import type { World } from './world.ts';

/** A stored data file, by its name in the table; its partition as text. */
export type StoredFile = {
  name: string;
  records: number;
  bytes: number;
  /** Its statistics in the log's form. */
  stats: string;
  partition: readonly (string | null)[];
};

/** A table during an attempt, which updates it, and the version at its start. */
export type OpenTable = { state: State; began: number };

/** A delivery whose files are stored, partitioned by `fields`. */
export type StoredDelivery = OpenTable & {
  fields: readonly TableField[];
  files: readonly StoredFile[];
  /** Log paths of the files that these replace; absent: none, or all for a generation. */
  replaced?: readonly string[];
  /** Throws if the files were based on another state of the table. */
  requireBase?(state: State): void;
};

/** Other writers may commit this many versions before ours. */
const conflicts_max = 100;

/**
 * Shows the files to the readers of the table, all at once, in place of the replaced ones. An
 * existing delivery is not added again. `noteSent` is called before a request may show anything.
 */
export function showFiles(
  world: World,
  delivery: Delivery,
  { fields, files, replaced = [], requireBase, ...table }: StoredDelivery,
  noteSent: () => void,
): Promise<void> {
  const removedOf = ({ adds }: State): Add[] =>
    delivery.generation === undefined
      ? replaced.map((path) => adds.get(path)!)
      : [...adds.values()];
  return commitOnce(world, delivery, table, {
    isDone: (state) => isShown(state, delivery),
    actions: (state) => {
      requireBase?.(state);
      requireGeneration(world, state, delivery);
      const removed = removedOf(state);
      return [
        told(world, delivery, files, removed.length),
        ...tableActions(world, state, delivery, fields),
        ...txnsOf(world, delivery),
        ...removed.map((file) => removedAction(file, world.clock.now())),
        ...files.map((file) => added(world, delivery, fields, file)),
      ];
    },
    noteSent,
  });
}

/**
 * Throws `superseded` if the table has a later generation, and `table_shared` if it has rows of
 * another export, which a generation would remove.
 */
function requireGeneration(
  { config }: World,
  state: State,
  { batch_export_id, generation }: Delivery,
): void {
  if (generation === undefined) return;
  if (isShared(state, batch_export_id))
    throw new NonRetryableError(
      'table_shared',
      `The table ${tableName(config)} has rows of another export, and replacing it would remove ` +
        'them. Export to another table.',
    );
  const last = state.txns.get(generationIdOf(batch_export_id));
  if (last !== undefined && Number(last.version) > Date.parse(generation)) throw supersededError();
}

function txnsOf(
  { clock }: World,
  { batch_export_id, delivery_id, generation }: Delivery,
): Action[] {
  const lastUpdated = clock.now();
  const last = { appId: appIdOf(batch_export_id), version: numberOf(delivery_id), lastUpdated };
  if (generation === undefined) return [{ txn: last }];
  const version = Date.parse(generation);
  return [{ txn: last }, { txn: { appId: generationIdOf(batch_export_id), version, lastUpdated } }];
}

/** Returns the action that removes a file from the table. */
export function removedAction(
  { path, partitionValues: values, size }: Add,
  deletionTimestamp: number,
  dataChange = true,
): Action {
  const facts = { dataChange, extendedFileMetadata: true, partitionValues: values, size };
  return { remove: { path, deletionTimestamp, ...facts } };
}

/** Returns an entry to write, from the table's state before it. */
type Entry = {
  isDone(state: State): boolean;
  actions(state: State): Action[];
  noteSent(): void;
};

/**
 * Writes one entry of the log. Guarantee: it only skips a version after reading its entry, if that
 * belongs to another writer. So at most one of all tries of an entry is ever in the log, including
 * tries with lost answers and pending ones.
 */
async function commitOnce(
  world: World,
  delivery: Delivery,
  { state, began }: OpenTable,
  { isDone, actions, noteSent }: Entry,
): Promise<void> {
  for (let tries = 0; tries < conflicts_max; tries += 1) {
    await refresh(world.log, state);
    if (isDone(state)) return;
    requireUnfenced(state, delivery, began);
    const entry = actions(state);
    // A stopped attempt writes nothing more.
    world.deps.signal.throwIfAborted();
    noteSent();
    if (await addEntry(world.log, state, entry)) return;
  }
  throw new RetryableError(
    'conflict',
    `Other writers changed the table ${tableName(world.config)} ${conflicts_max} times in a row.`,
  );
}

/**
 * Keeps a pending request from showing the delivery, and returns whether one was faster: such a
 * request can only write the version after the last one, which is taken then.
 */
export async function fence(world: World, delivery: Delivery, state: State): Promise<boolean> {
  await refresh(world.log, state);
  if (isShown(state, delivery)) return true;
  const commitInfo = {
    ...factsOf(world, delivery, 'FENCE'),
    [fence_key]: delivery.delivery_id,
  };
  const creation = state.version === -1 ? tableActions(world, state, delivery, []) : [];
  await addEntry(world.log, state, [{ commitInfo }, ...creation]);
  await refresh(world.log, state);
  return isShown(state, delivery);
}

/**
 * Throws `table_unsuitable` unless the delivery's rows, partitioned by these fields, fit into the
 * table.
 */
export function requireSuitable(
  world: World,
  state: State,
  delivery: Delivery,
  fields: readonly TableField[],
): void {
  const changes = delivery.merge || delivery.generation !== undefined;
  if (changes && state.metaData?.configuration['delta.appendOnly'] === 'true')
    throw unsuitable(
      world,
      'its property `delta.appendOnly` forbids to remove rows. Export to another table.',
    );
  fieldsNow(world, state, delivery, fields);
}

/** An attempt that began before the fence gives way to later ones. */
function requireUnfenced(state: State, { delivery_id }: Delivery, began: number): void {
  if ((state.fences.get(delivery_id) ?? -1) > began)
    throw new RetryableError(
      'conflict',
      'Another worker has ended this attempt, because it gave no answer.',
    );
}

function added(
  { clock }: World,
  { columns }: Delivery,
  fields: readonly TableField[],
  file: StoredFile,
): Action {
  return {
    add: {
      path: encodedPath(file.name),
      partitionValues: partitionValues(fields, file.partition, columns),
      size: file.bytes,
      modificationTime: clock.now(),
      dataChange: true,
      stats: file.stats,
    },
  };
}

function told(
  world: World,
  delivery: Delivery,
  files: readonly StoredFile[],
  removed: number,
): Action {
  const sum = (value: (file: StoredFile) => number) =>
    String(files.reduce((total, file) => total + value(file), 0));
  const { merge, generation } = delivery;
  const replaces = generation !== undefined;
  return {
    commitInfo: {
      ...factsOf(world, delivery, merge ? 'MERGE' : 'WRITE'),
      'sluice.delivery-id': delivery.delivery_id,
      ...(replaces ? { 'sluice.generation': generation } : {}),
      operationParameters: merge
        ? { matchedPredicates: '[]' }
        : { mode: replaces ? 'Overwrite' : 'Append', partitionBy: '[]' },
      isBlindAppend: !merge && !replaces,
      operationMetrics: {
        numFiles: String(files.length),
        numRemovedFiles: String(removed),
        numOutputRows: sum(({ records }) => records),
        numOutputBytes: sum(({ bytes }) => bytes),
      },
    },
  };
}

/** Returns the facts of our own commit. */
function factsOf({ clock }: World, delivery: Delivery, operation: string) {
  return {
    timestamp: clock.now(),
    operation,
    engineInfo: 'Sluice',
    'sluice.export-id': delivery.batch_export_id,
    'sluice.run-id': delivery.run_id,
  };
}
