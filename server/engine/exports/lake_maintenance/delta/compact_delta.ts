import { FileBoundError } from '../../../destinations/formats/parquet/parquet_bounds.ts';
import type { Add } from '../../../destinations/lake/delta_log/actions.ts';
import { decodedPath } from '../../../destinations/lake/delta_log/actions.ts';
import { refresh } from '../../../destinations/lake/delta_log/log.ts';
import { isInTable } from '../../../destinations/lake/delta_log/live_files.ts';
import { whyNotWritable } from '../../../destinations/lake/delta_log/table.ts';
import { chooseFiles } from '../choose_files.ts';
import type { Compacted } from '../compact.ts';
import { rewriteRows, whyUnfit } from '../rewrite_rows.ts';
import { UnfitFilesError } from '../rows_inputs.ts';
import { filesOf, layoutOf, replaceFiles, schemaOf, sourceOf } from './delta_table.ts';
import type { DeltaTable } from './delta_table.ts';
import { isOurs } from './vacuum.ts';

/**
 * Merges our small data files into large ones, partition by partition, and commits each group as a
 * version. Guarantees: the rows and their order stay the same, compared before the commit; a
 * concurrent commit stays, and one that replaced a file of the group wins.
 */
export async function compactDelta(one: DeltaTable, is_daily: boolean): Promise<Compacted> {
  const done: Compacted = { files: 0, into: 0, bytes: 0, detail: null };
  const { world, state, rules, signal } = one;
  await refresh(world.log, state);
  const metadata = layoutOf(one);
  const why = whyNotWritable(state);
  if (why !== undefined) return { ...done, detail: `Its files stay as they are: ${why}` };
  const unfit = whyUnfit(schemaOf(one));
  if (unfit !== undefined) return { ...done, detail: unfit };
  for (const own of Map.groupBy(ownFiles(one), partitionOf).values())
    for (const group of chooseFiles(own, rules, is_daily)) {
      if (signal.aborted) return done;
      try {
        const sources = group.map(({ add }) => sourceOf(add));
        const files = filesOf(one);
        const rows = await rewriteRows({ ...one, files }, { metadata, sources, by_name: true });
        const adds = group.map(({ add }) => add);
        if (!(await replaceFiles(one, adds, rows, 'compaction'))) continue;
        done.files += group.length;
        done.into += 1;
        done.bytes += rows.file?.bytes.length ?? 0;
      } catch (error) {
        if (!(error instanceof UnfitFilesError || error instanceof FileBoundError)) throw error;
        done.detail = error.message;
      }
    }
  return done;
}

/**
 * Returns the files that Sluice wrote, in the order of arrival. Files of other writers may have
 * types that Sluice does not write, such as instants in nanoseconds.
 */
function ownFiles({ state }: DeltaTable) {
  return [...state.adds.values()]
    .filter(({ path }) => isInTable(path) && isOurs(decodedPath(path)))
    .map((add) => ({ ...sourceOf(add), bytes: add.size, add }))
    .filter(({ records }) => records >= 0)
    .toSorted((a, b) => a.add.modificationTime - b.add.modificationTime);
}

function partitionOf({ add: { partitionValues } }: { add: Add }): string {
  return JSON.stringify(Object.entries(partitionValues).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
