import type { StoredSlice } from '../../model/run.ts';
import { listSlices, storeSlices } from '../runs/progress.ts';
import { cutPartitions } from '../source/cut_partitions.ts';
import { cutSlices, usual_most } from '../source/cut_slices.ts';
import type { SizeBound } from '../source/measured_cut.ts';
import { folderParting, tableParting } from '../source/partitions.ts';
import { destinationDeps } from '../engine.ts';
import { cutSlicesOnce } from '../source/recent_cuts.ts';
import { isFirstReading, readingOf } from './attempt.ts';
import type { Attempt } from './attempt.ts';

/** Returns the slices of a run as its first attempt counted and cut them. */
export async function slicesOf(attempt: Attempt): Promise<StoredSlice[]> {
  const { engine, run } = attempt;
  if (run.records_total_count !== null) return listSlices(engine, run.id);
  const slices = run.selection.length === 0 ? [] : await cut(attempt);
  attempt.clock.enter('counted');
  await storeSlices(engine, run, slices);
  return slices;
}

type TableParts = Awaited<ReturnType<NonNullable<Attempt['definition']['tableParts']>>> | undefined;

async function cut(attempt: Attempt): Promise<StoredSlice[]> {
  const { engine, run, definition, config, delivery, signal } = attempt;
  const reading = await readingOf(attempt);
  const bound = sizeBoundOf(attempt);
  const most = { ...usual_most, ...definition.slices_most };
  const keys = definition.partitionKeys?.(config) ?? [];
  const { columns } = delivery;
  if (keys.length > 0) {
    const parting = folderParting(reading, { keys, timezone: delivery.timezone });
    return cutPartitions(engine, reading, { parting, columns }, bound, signal, most);
  }
  const is_row_wise = reading.key !== undefined;
  const deps = destinationDeps(engine, signal);
  const cutRows = isFirstReading(run) ? cutSlicesOnce : cutSlices;
  let table: TableParts;
  try {
    table = await definition.tableParts?.(config, delivery, { is_row_wise, deps });
  } catch (error) {
    // A run without rows completes even if its table is unreachable.
    const slices = await cutRows(engine, reading, bound, signal, most);
    if (slices.length === 0) return slices;
    throw error;
  }
  if (table !== undefined && (table.fields.length > 0 || table.is_whole)) {
    const parting = tableParting(columns, table.fields);
    return cutPartitions(engine, reading, { ...table, parting, columns }, bound, signal, most);
  }
  return cutRows(engine, reading, bound, signal, most);
}

function sizeBoundOf({ definition, config, delivery }: Attempt): SizeBound | undefined {
  const bytes_max = definition.sliceBytes?.(config);
  if (bytes_max === undefined) return undefined;
  return {
    bytes_max,
    encoding: definition.encoding(config),
    columns: delivery.columns,
    is_rough: definition.slices_are_rough === true,
  };
}
