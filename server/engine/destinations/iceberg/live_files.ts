import { isLive, openManifest } from '../lake/entries.ts';
import type { Entry } from '../lake/entries.ts';
import { readManifestList } from '../lake/manifest_list.ts';
import { readFile } from './world.ts';
import type { World } from './world.ts';

/** Content of a manifest that lists data files, and not deletes. */
const data = 0;

/** Returns the data files that readers see, by their URIs: one entry for each naming. */
export async function liveFiles(world: World): Promise<Map<string, Entry[]>> {
  const live = new Map<string, Entry[]>();
  const snapshot = (await world.catalog.load())?.parent;
  if (snapshot === undefined) return live;
  const manifests = readManifestList(await readFile(world, snapshot['manifest-list']));
  for (const listed of manifests) {
    if (listed.content !== data) continue;
    const { entries } = openManifest(await readFile(world, listed.manifest_path), listed);
    for (const entry of entries.filter(isLive))
      live.set(entry.path, [...(live.get(entry.path) ?? []), entry]);
  }
  return live;
}
