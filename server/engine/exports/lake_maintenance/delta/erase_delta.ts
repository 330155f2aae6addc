import { readParquets } from '../../../destinations/formats/parquet/read_parquet.ts';
import type { Add } from '../../../destinations/lake/delta_log/actions.ts';
import { isInTable } from '../../../destinations/lake/delta_log/live_files.ts';
import { refresh } from '../../../destinations/lake/delta_log/log.ts';
import { keepLog } from '../../../destinations/lake/delta_log/keep_log.ts';
import { whyNotWritable } from '../../../destinations/lake/delta_log/table.ts';
import type { ErasedRows } from '../erase_rows.ts';
import { rewriteRows, whyUnfit } from '../rewrite_rows.ts';
import { UnfitFilesError, inputsOf } from '../rows_inputs.ts';
import type { LeftOut } from '../rewrite_rows.ts';
import { filesOf, layoutOf, replaceFiles, schemaOf, sourceOf } from './delta_table.ts';
import type { DeltaTable } from './delta_table.ts';
import { vacuum } from './vacuum.ts';

const looks_max = 20;

/**
 * Removes rows by their keys from a table: rewrites the files with such rows, and removes all files
 * that left the table, so that no older version shows them either. Returns a sentence if it cannot;
 * undefined if a run in progress still needs files, so that the caller tries again later. May be
 * repeated.
 */
export async function eraseDeltaRows(
  one: DeltaTable,
  left_out: LeftOut,
  keys: ReadonlySet<string>,
): Promise<ErasedRows | string | undefined> {
  const why = whyNot(one, left_out);
  if (why !== undefined) return why;
  const searched = new Map<string, boolean>();
  let files = 0;
  try {
    for (let look = 0; ; look += 1) {
      await refresh(one.world.log, one.state);
      const touched: Add[] = [];
      for (const add of one.state.adds.values())
        if (await hasRows(one, add, { left_out, keys, searched })) touched.push(add);
      if (touched.length === 0) break;
      if (look === looks_max) throw new Error('Other writers change the table all the time.');
      for (const add of touched) {
        const given = {
          metadata: layoutOf(one),
          sources: [sourceOf(add)],
          left_out,
          by_name: true,
        };
        const rows = await rewriteRows({ ...one, files: filesOf(one) }, given);
        if (await replaceFiles(one, [add], rows, 'erasure')) files += 1;
      }
    }
  } catch (error) {
    if (error instanceof UnfitFilesError)
      return `${error.message} So rows may stay there. Remove them with an engine, and run VACUUM.`;
    throw error;
  }
  await keepLog(one.world, one.state);
  const gone = await vacuum(one, { at_once: true });
  return gone && { files, snapshots: 0, removed: gone.removed + gone.orphans };
}

function whyNot(one: DeltaTable, { column }: LeftOut): string | undefined {
  const { state, rules } = one;
  if (!rules.removes_files)
    return 'The table has `gc.enabled` = false, so its old files stay. Remove them yourself.';
  const why = whyNotWritable(state);
  if (why !== undefined) return `The rows stay in the table: ${why}`;
  if (state.metaData!.configuration['delta.appendOnly'] === 'true')
    return 'The table has `delta.appendOnly` = true, so no row may leave it.';
  if ([...state.adds.keys()].some((path) => !isInTable(path)))
    return 'The table has files outside of its folder.';
  const schema = schemaOf(one);
  const unfit = whyUnfit(schema);
  if (unfit !== undefined) return `${unfit} So the rows stay. Remove them with an engine.`;
  if (!schema.fields.some(({ name }) => name === column))
    return `The table no longer has a column "${column}".`;
  return undefined;
}

type Search = { left_out: LeftOut; keys: ReadonlySet<string>; searched: Map<string, boolean> };

/** Returns true if the file has one of the keys. Reads each file once. */
async function hasRows(
  one: DeltaTable,
  add: Add,
  { left_out, keys, searched }: Search,
): Promise<boolean> {
  const known = searched.get(add.path);
  if (known !== undefined) return known;
  one.signal.throwIfAborted();
  const beside = add.partitionValues[left_out.column];
  let found = typeof beside === 'string' && keys.has(beside);
  const fields = schemaOf(one).fields.filter(({ name }) => name === left_out.column);
  for await (const { rows } of readParquets(inputsOf(filesOf(one), fields, [add], true)))
    found ||= rows.some(([key]) => typeof key === 'string' && keys.has(key));
  searched.set(add.path, found);
  return found;
}
