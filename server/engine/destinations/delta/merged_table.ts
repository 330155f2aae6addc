import type { Delivery, Sink } from '../../model/destination/destination.ts';
import { RetryableError } from '../../model/destination/errors.ts';
import type { TableField } from '../../model/destination/partition.ts';
import { isFresh, overtakenError } from '../lake/merge/merge_sink.ts';
import type { Base, MergedTable } from '../lake/merge/merge_sink.ts';
import { mergedType } from '../lake/merge/merge_query.ts';
import type { MergedColumn } from '../lake/merge/merge_query.ts';
import type { MergedSlice } from '../lake/merge/state.ts';
import { fetchFile } from '../lake/merge/workplace.ts';
import { storeFile } from '../lake/stored_files.ts';
import type { State } from '../lake/delta_log/actions.ts';
import { showFiles } from '../lake/delta_log/commit.ts';
import type { OpenTable } from '../lake/delta_log/commit.ts';
import { tableName } from '../lake/delta_log/config.ts';
import { isShown } from '../lake/delta_log/delivered.ts';
import { fieldName } from '../lake/layout.ts';
import { partitionValues } from '../lake/delta_log/layout.ts';
import { filesOf, readData, valuesBeside } from '../lake/delta_log/live_files.ts';
import { partitionFolders } from '../lake/delta_log/folders.ts';
import { refresh } from '../lake/delta_log/log.ts';
import { statisticsText } from '../lake/delta_log/statistics.ts';
import { rowFields, icebergType } from '../lake/delta_log/schema.ts';
import { fieldsNow, unsuitable } from '../lake/delta_log/table.ts';
import { nameInTable } from '../lake/delta_log/world.ts';
import type { World } from '../lake/delta_log/world.ts';

/** A prepared table of a delivery. */
type Found = {
  fields: readonly TableField[];
  columns: MergedColumn[];
  /** The schema of the table at that time; undefined: it did not exist. */
  schema: string | undefined;
};

type Opened = {
  files: Sink;
  load(): Promise<OpenTable>;
  prepared(fields: readonly TableField[]): Promise<void>;
  abort: MergedTable<Found>['abort'];
  noteSent(): void;
};

/** Opens a Delta table for a merge. */
export function openMergedTable(
  world: World,
  delivery: Delivery,
  { files, load, prepared, abort, noteSent }: Opened,
): MergedTable<Found> {
  const now = async () => {
    const { state } = await load();
    await refresh(world.log, state);
    return state;
  };
  const prepare = async (fields: readonly TableField[]): Promise<Found> => {
    await prepared(fields);
    const state = await now();
    const { schema } = fieldsNow(world, state, delivery, fields);
    const columns = mergedColumns(world, rowFields(schema, fields));
    return { fields, columns, schema: state.metaData?.schemaString };
  };
  return {
    name: tableName(world.config),
    isShown: async () => isShown(await now(), delivery),
    prepare,
    prepareFor: ({ fields = [] }) => prepare(fields),
    factsOf: () => ({ table_uuid: '', spec_id: 0, sort_order_id: 0 }),
    columnsOf: ({ columns }) => columns,
    baseOf: async ({ fields = [] }, found) => {
      const state = await now();
      if (found !== undefined && state.metaData?.schemaString !== found.schema)
        throw new RetryableError(
          'conflict',
          'The columns of the table changed. Sluice retries the run.',
        );
      return baseOf(world, state, delivery, fields);
    },
    fetch: async (place, { path }, name, { columns }) => {
      const add = (await now()).adds.get(path);
      if (add === undefined) throw overtakenError();
      const file = await fetchFile(place, await readData(world, path), name, columns, {
        by_name: true,
      });
      // The log's values for a file override its content.
      const values = valuesBeside(add, columns);
      const names = new Map([...file.names].filter(([id]) => !values.has(id)));
      return { ...file, names, values };
    },
    store: ({ columns, fields }, slice, bytes) =>
      storeFile(
        new Map(columns.map(({ name, id }) => [name, id])),
        files,
        slice,
        bytes,
        partitionFolders(world, fields, slice.values, delivery.columns),
      ),
    show: async (slices) => show(world, delivery, slices, { table: await load(), noteSent }),
    abort,
    unsuitable: (why) => unsuitable(world, why),
  };
}

/** Returns the columns of the rows as a merge reads and writes them. */
function mergedColumns(world: World, fields: ReturnType<typeof rowFields>): MergedColumn[] {
  return fields.map(({ name, type }, index) => {
    const merged = mergedType(icebergType(type));
    if (merged === undefined)
      throw unsuitable(
        world,
        `its column "${name}" has the type ${JSON.stringify(type)}, which a merge cannot copy. ` +
          'Export to another table.',
      );
    return { id: index + 1, name, type: merged };
  });
}

/**
 * Returns the live files by partition. Throws `table_unsuitable` if another writer has added rows
 * without the value of a column that Sluice computed for a partition: their keys may be anywhere.
 */
function baseOf(
  world: World,
  state: State,
  { columns }: Delivery,
  fields: readonly TableField[],
): Base {
  const names = fields.map((field) => fieldName(field));
  const made = fields.filter(({ transform }) => transform !== 'identity').map(fieldName);
  const live = filesOf(world, state);
  const unknown = made.find((name) =>
    live.some(({ partitionValues: values }) => (values[name] ?? '') === ''),
  );
  if (unknown !== undefined)
    throw unsuitable(
      world,
      `another writer has added rows without a value in "${unknown}". Let it fill that column as ` +
        'Sluice does, or leave the table to Sluice.',
    );
  const textOf = (values: Record<string, string | null>) =>
    JSON.stringify(names.map((name) => values[name] || null));
  const by_partition = Map.groupBy(live, (file) => textOf(file.partitionValues));
  return {
    files: (partition) =>
      by_partition.get(textOf(partitionValues(fields, partition, columns))) ?? [],
  };
}

async function show(
  world: World,
  delivery: Delivery,
  slices: MergedSlice[],
  { table, noteSent }: { table: OpenTable; noteSent: () => void },
): Promise<void> {
  const changed = slices.filter(({ file }) => file !== null);
  if (changed.length === 0) return;
  const fields = slices[0]?.fields ?? [];
  const { schema } = fieldsNow(world, table.state, delivery, fields);
  const columns = rowFields(schema, fields).map(({ name, type }) => ({ name, type: String(type) }));
  const stored = {
    ...table,
    fields,
    files: changed.map(({ file, partition }) => {
      const { name, records, bytes, statistics } = file!;
      const stats = statisticsText(columns, statistics, records);
      return { name: nameInTable(world, name), records, bytes, stats, partition };
    }),
    replaced: changed.flatMap(({ base }) => base),
    requireBase: (state: State) => {
      const base = baseOf(world, state, delivery, fields);
      if (slices.some((slice) => !isFresh(base, slice))) throw overtakenError();
    },
  };
  await showFiles(world, delivery, stored, noteSent);
}
