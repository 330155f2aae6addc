import { sameUri } from '../../model/lake_catalog/file_uri.ts';
import { isLive, openManifest } from '../lake/entries.ts';
import type { Entry } from '../lake/entries.ts';
import { readManifestList } from '../lake/manifest_list.ts';
import { partitionText } from '../lake/partition_types.ts';
import { hasFiles } from '../lake/snapshot_change.ts';
import { readFile } from './world.ts';
import type { World } from './world.ts';

/** A data file that readers see, and the delete files that may hide rows of it. */
export type LiveFile = Entry & { spec_id: number; deletes: string[] };

/** Returns the data files that readers see, by URI: one entry for each occurrence. */
export async function liveFiles(world: World): Promise<Map<string, LiveFile[]>> {
  const snapshot = (await world.catalog.load())?.parent;
  if (snapshot === undefined) return new Map();
  const listed = readManifestList(await readFile(world, snapshot['manifest-list']));
  const live: (Entry & { spec_id: number })[] = [];
  for (const manifest of listed.filter(hasFiles)) {
    const { entries, spec_id } = openManifest(
      await readFile(world, manifest.manifest_path),
      manifest,
    );
    live.push(...entries.filter(isLive).map((entry) => ({ ...entry, spec_id })));
  }
  const deletes = live.filter(({ content }) => content !== 0);
  const files = live
    .filter(({ content }) => content === 0)
    .map((file) => ({
      ...file,
      deletes: deletes.filter((one) => mayHide(one, file)).map(({ path }) => path),
    }));
  return Map.groupBy(files, ({ path }) => path);
}

type Placed = Entry & { spec_id: number };

/**
 * Returns true if a delete file may hide rows of a data file. One that names its data file, as
 * deletion vectors do, hides no others. Position deletes apply to files of their own commit,
 * equality deletes do not; without a partition, the latter apply to every file.
 */
function mayHide(deletes: Placed, file: Placed): boolean {
  const { referenced_data_file: named, sequence_number, content, partition } = deletes;
  if (named !== null) return sameUri(named) === sameUri(file.path);
  const is_same_place =
    deletes.spec_id === file.spec_id && partitionText(partition) === partitionText(file.partition);
  if (content === 1) return is_same_place && file.sequence_number <= sequence_number;
  return file.sequence_number < sequence_number && (partition.length === 0 || is_same_place);
}
