import type { Delivery, Sink, SortedColumn } from '../../../model/destination/destination.ts';
import { RetryableError } from '../../../model/destination/errors.ts';
import type { TableField } from '../../../model/destination/partition.ts';
import { isFresh, overtakenError } from '../../lake/merge/merge_sink.ts';
import type { MergedTable } from '../../lake/merge/merge_sink.ts';
import { fetchFile } from '../../lake/merge/workplace.ts';
import type { MergedSlice } from '../../lake/merge/state.ts';
import { lineage_columns, mergedType } from '../../lake/merge/merge_query.ts';
import type { MergedColumn } from '../../lake/merge/merge_query.ts';
import { hasDefault } from '../../lake/schema.ts';
import { storeFile } from '../../lake/stored_files.ts';
import { currentSchema, specOf } from '../../lake/table_metadata.ts';
import type { TableSchema } from '../../lake/schema.ts';
import { requireSameTable } from '../catalogs/same_table.ts';
import { tableName } from '../config.ts';
import { fieldsOf } from '../layout.ts';
import { showFiles } from '../show.ts';
import { abortUnshown, isShown } from '../sink.ts';
import { prepareTable, unsuitable } from '../table.ts';
import type { PreparedTable } from '../table.ts';
import { readData } from '../world.ts';
import type { World } from '../world.ts';
import { openBases } from './base.ts';

/** Opens an Iceberg table for a merge. */
export function openMergedTable(
  world: World,
  delivery: Delivery,
  { files, order }: { files: Sink; order: readonly SortedColumn[] },
): MergedTable<PreparedTable> {
  const { levels, name } = tableName(world.config);
  let bases: ReturnType<typeof openBases> | undefined;
  const basesOf = (spec_id: number) => (bases ??= openBases(world, spec_id));
  const prepare = (fields: readonly TableField[]) =>
    prepareTable(world, delivery, { fields, order });
  return {
    name: [...levels, name].join('.'),
    isShown: () => isShown(world, delivery),
    prepare,
    prepareFor: async ({ spec_id }) => {
      const { metadata } = (await world.catalog.load())!;
      return prepare(fieldsOf(currentSchema(metadata), specOf(metadata, spec_id)) ?? []);
    },
    factsOf: ({ uuid, spec_id, sort_order_id }) => ({ table_uuid: uuid, spec_id, sort_order_id }),
    columnsOf: ({ schema }) => mergedColumns(world, schema),
    baseOf: async ({ table_uuid, spec_id }, found) => {
      const state = found === undefined ? await world.catalog.load() : await stateNow(world, found);
      const is_same = state?.metadata['table-uuid'] === table_uuid;
      return is_same ? basesOf(spec_id)(state) : undefined;
    },
    tracksRows: ({ tracks_rows }) => tracks_rows,
    fetch: async (place, file, own, { schema }) => {
      const columns = [...mergedColumns(world, schema), ...lineage_columns];
      const found = await fetchFile(place, await readData(world, file.path), own, columns);
      const { first_row_id = null, sequence_number = 0n } = file;
      return { ...found, lineage: { first_row_id, sequence_number } };
    },
    store: ({ ids }, slice, bytes) => storeFile(ids, files, slice, bytes),
    show: (slices, end) => show(world, delivery, slices, { basesOf, end }),
    abort: (outcomes) => abortUnshown(world, delivery, files, outcomes),
    unsuitable: (why) => unsuitable(world, why),
  };
}

/** Returns the columns of a table as a merge reads and writes them. */
function mergedColumns(world: World, { fields }: TableSchema): MergedColumn[] {
  return fields.map((field) => {
    const { id, name, type } = field;
    if (hasDefault(field))
      throw unsuitable(
        world,
        `its column "${name}" has a default value, which a merge cannot copy.`,
      );
    const merged = mergedType(type);
    if (merged === undefined)
      throw unsuitable(
        world,
        `its column "${name}" has the type ${JSON.stringify(type)}, which a merge cannot copy.`,
      );
    return { id, name, type: merged };
  });
}

/**
 * Loads the table, and throws `conflict` if its columns changed. Its files have the columns of its
 * schema: a newer one may have more than we copy.
 */
async function stateNow({ catalog }: World, { uuid, schema }: PreparedTable) {
  const state = await catalog.load();
  requireSameTable(state, uuid);
  if (state!.metadata['current-schema-id'] !== schema['schema-id'])
    throw new RetryableError(
      'conflict',
      'The columns of the table changed. Sluice retries the run.',
    );
  return state;
}

type Showing = {
  basesOf: (spec_id: number) => ReturnType<typeof openBases>;
  end: Parameters<MergedTable<PreparedTable>['show']>[1];
};

async function show(
  world: World,
  delivery: Delivery,
  slices: MergedSlice[],
  { basesOf, end }: Showing,
): Promise<void> {
  const changed = slices.filter(({ file }) => file !== null);
  await showFiles(
    world,
    {
      delivery,
      table_uuid: slices[0]?.table_uuid,
      files: changed.map(({ file, partition, spec_id, sort_order_id }) => {
        const { name, records, bytes, statistics } = file!;
        return { name, records, bytes, statistics, partition, spec_id, sort_order_id };
      }),
      removed: new Set(changed.flatMap(({ base }) => base)),
      requireBase: async (state) => {
        for (const slice of slices)
          if (!isFresh(await basesOf(slice.spec_id)(state), slice)) throw overtakenError();
      },
    },
    end,
  );
}
