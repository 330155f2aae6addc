import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import type { Delivery } from '../../model/destination/destination.ts';
import type { FileStatistics } from '../lake/file_statistics.ts';
import { encodedPath, fence_key } from './actions.ts';
import type { Action, State } from './actions.ts';
import { tableName } from './config.ts';
import { appIdOf, isShown, numberOf } from './delivered.ts';
import { addEntry, refresh } from './log.ts';
import { fieldsOf, fitFields, schemaText } from './schema.ts';
import type { Field } from './schema.ts';
import { statisticsText } from './statistics.ts';
import type { World } from './world.ts';

/** A data file that is stored, by its name in the table. */
export type StoredFile = {
  name: string;
  records: number;
  bytes: number;
  statistics: FileStatistics;
};

/** A table as an attempt has it, which brings it up to date, and the version that it began with. */
export type OpenTable = { state: State; began: number };

/** Other writers may take so many versions in front of one commit. */
const conflicts_max = 100;
/** Features of writers that an append cannot break. */
const harmless_features = ['appendOnly', 'invariants'];

/**
 * Shows the files to the readers of the table, all at once. A delivery that is there already is not
 * added again. `noteSent` is called before a request may show something.
 */
export function showFiles(
  world: World,
  delivery: Delivery,
  { files, ...table }: OpenTable & { files: StoredFile[] },
  noteSent: () => void,
): Promise<void> {
  const txn = {
    appId: appIdOf(delivery.batch_export_id),
    version: numberOf(delivery.delivery_id),
    lastUpdated: world.clock.now(),
  };
  return commitOnce(world, delivery, table, {
    isDone: (state) => isShown(state, delivery),
    actions: (state) => [
      told(world, delivery, files),
      ...tableActions(world, state, delivery),
      { txn },
      ...files.map((file) => added(world, delivery, file)),
    ],
    noteSent,
  });
}

/** An entry to write, by the table as it is before it. */
type Entry = {
  isDone(state: State): boolean;
  actions(state: State): Action[];
  noteSent(): void;
};

/**
 * Writes one entry of the log. Guarantee: a version is passed over only after its entry was read
 * and is of another writer. So of all tries of an entry one at most is ever in the log, also of
 * those whose answer was lost or that are still on their way.
 */
export async function commitOnce(
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
    // An attempt that was stopped writes nothing more.
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
 * Keeps the delivery from being shown by a request that is still on its way, and says whether one
 * was faster: such a request can only write the version behind the last one, which is taken then.
 */
export async function fence(world: World, delivery: Delivery, state: State): Promise<boolean> {
  await refresh(world.log, state);
  if (isShown(state, delivery)) return true;
  const commitInfo = {
    ...factsOf(world, delivery, 'FENCE'),
    [fence_key]: delivery.delivery_id,
  };
  const creation = state.version === -1 ? tableActions(world, state, delivery) : [];
  await addEntry(world.log, state, [{ commitInfo }, ...creation]);
  await refresh(world.log, state);
  return isShown(state, delivery);
}

/** Throws `table_unsuitable` unless rows of the delivery can be appended to the table. */
export function requireSuitable(world: World, state: State, delivery: Delivery): void {
  fittingFields(world, state, delivery);
}

/** An attempt that began before the fence gives way to those after it. */
function requireUnfenced(state: State, { delivery_id }: Delivery, began: number): void {
  if ((state.fences.get(delivery_id) ?? -1) > began)
    throw new RetryableError(
      'conflict',
      'Another worker has ended this attempt, because it gave no answer.',
    );
}

/** The actions of an entry that say what the table is. */
function tableActions({ clock, config }: World, state: State, delivery: Delivery): Action[] {
  const { protocol, metaData } = state;
  const { fields, is_changed } = fittingFields({ config }, state, delivery);
  const schema = {
    id: crypto.randomUUID(),
    name: tableName(config),
    format: { provider: 'parquet', options: {} },
    partitionColumns: [],
    createdTime: clock.now(),
    configuration: {},
    ...metaData,
    schemaString: schemaText(fields),
  };
  return [
    ...(protocol === undefined ? [{ protocol: { minReaderVersion: 1, minWriterVersion: 2 } }] : []),
    ...(is_changed ? [{ metaData: schema }] : []),
  ];
}

function fittingFields(
  { config }: Pick<World, 'config'>,
  { protocol, metaData }: State,
  { columns }: Delivery,
): { fields: Field[]; is_changed: boolean } {
  const unsuitable = (why: string) =>
    new NonRetryableError(
      'table_unsuitable',
      `Sluice cannot append to the table ${tableName(config)}: ${why} Export to another table.`,
    );
  if (protocol !== undefined && !isWritable(protocol)) {
    const { minReaderVersion: reader, minWriterVersion: writer, writerFeatures } = protocol;
    const features = writerFeatures === undefined ? '' : ` (${writerFeatures.join(', ')})`;
    throw unsuitable(
      `it needs reader version ${reader} and writer version ${writer}${features}, and Sluice ` +
        'writes 1 and 2.',
    );
  }
  if (metaData !== undefined && metaData.partitionColumns.length > 0)
    throw unsuitable(`it is partitioned by ${metaData.partitionColumns.join(', ')}.`);
  const before = metaData === undefined ? [] : fieldsOf(metaData.schemaString);
  const fitting = fitFields(before, columns);
  if ('fault' in fitting) throw unsuitable(fitting.fault);
  return { fields: fitting.fields, is_changed: fitting.fields !== before };
}

function isWritable({
  minReaderVersion,
  minWriterVersion,
  readerFeatures = [],
  writerFeatures = [],
}: NonNullable<State['protocol']>): boolean {
  const isHarmless = writerFeatures.every((feature) => harmless_features.includes(feature));
  if (minWriterVersion === 7) return isHarmless && readerFeatures.length === 0;
  return minReaderVersion === 1 && minWriterVersion <= 2;
}

/** The action that adds a data file. */
export function added({ clock }: World, { columns }: Delivery, file: StoredFile): Action {
  return {
    add: {
      path: encodedPath(file.name),
      partitionValues: {},
      size: file.bytes,
      modificationTime: clock.now(),
      dataChange: true,
      stats: statisticsText(columns, file.statistics, file.records),
    },
  };
}

function told(world: World, delivery: Delivery, files: StoredFile[]): Action {
  const sum = (value: (file: StoredFile) => number) =>
    String(files.reduce((total, file) => total + value(file), 0));
  return {
    commitInfo: {
      ...factsOf(world, delivery, 'WRITE'),
      'sluice.delivery-id': delivery.delivery_id,
      operationParameters: { mode: 'Append', partitionBy: '[]' },
      isBlindAppend: true,
      operationMetrics: {
        numFiles: String(files.length),
        numOutputRows: sum(({ records }) => records),
        numOutputBytes: sum(({ bytes }) => bytes),
      },
    },
  };
}

/** The facts of a commit of ours. */
export function factsOf({ clock }: World, delivery: Delivery, operation: string) {
  return {
    timestamp: clock.now(),
    operation,
    engineInfo: 'Sluice',
    'sluice.export-id': delivery.batch_export_id,
    'sluice.run-id': delivery.run_id,
  };
}
