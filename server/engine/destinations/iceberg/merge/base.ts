import { isLive, openManifest } from '../../lake/entries.ts';
import type { Entry } from '../../lake/entries.ts';
import { partitionText } from '../../lake/partition_types.ts';
import { readManifestList } from '../../lake/manifest_list.ts';
import { hasFiles } from '../../lake/snapshot_change.ts';
import type { Long, TableState } from '../../lake/table_metadata.ts';
import type { Base } from '../../lake/merge/merge_sink.ts';
import { unsuitable } from '../table.ts';
import { readFile } from '../world.ts';
import type { World } from '../world.ts';

/**
 * Opens the states of a table for a merge: each is read once. Throws `table_unsuitable` for a table
 * with files of another spec, which may contain the same keys, or with delete files, whose rows a
 * merge would restore.
 */
export function openBases(world: World, spec_id: number) {
  let latest: (Base & { snapshot_id: Long | undefined }) | undefined;
  return async (state: TableState | undefined): Promise<Base> => {
    const snapshot_id = state?.parent?.['snapshot-id'];
    if (latest !== undefined && latest.snapshot_id === snapshot_id) return latest;
    const files = state === undefined ? [] : await filesOf(world, state, spec_id);
    const by_partition = Map.groupBy(files, ({ partition }) => partitionText(partition));
    latest = {
      snapshot_id,
      files: (partition) => by_partition.get(partitionText(partition)) ?? [],
    };
    return latest;
  };
}

async function filesOf(world: World, { parent }: TableState, spec_id: number): Promise<Entry[]> {
  if (parent === undefined) return [];
  const files: Entry[] = [];
  const list = readManifestList(await readFile(world, parent['manifest-list'])).filter(hasFiles);
  for (const listed of list) {
    if (listed.content !== 0)
      throw unsuitable(
        world,
        'another writer has deleted rows of it by delete files, and a merge would bring ' +
          'them back. Let that writer rewrite the data files first.',
      );
    const opened = openManifest(await readFile(world, listed.manifest_path), listed);
    const live = opened.entries.filter(isLive);
    if (live.length > 0 && listed.partition_spec_id !== spec_id)
      throw unsuitable(
        world,
        'it has files of another partitioning, in which the same keys may lie. Merge into a new ' +
          'table, or leave `partition_by` as the table is.',
      );
    files.push(...live);
  }
  return files;
}
