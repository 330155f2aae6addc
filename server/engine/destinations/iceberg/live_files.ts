import { readManifest } from '../lake/manifest.ts';
import type { ListedFile } from '../lake/manifest.ts';
import { readManifestList } from '../lake/manifest_list.ts';
import { readFile } from './world.ts';
import type { World } from './world.ts';

/** Content of a manifest that lists data files, and not deletes. */
const data = 0;

/** Returns the data files that readers see, by their URIs: one entry for each naming. */
export async function liveFiles(world: World): Promise<Map<string, ListedFile[]>> {
  const live = new Map<string, ListedFile[]>();
  const snapshot = (await world.catalog.load())?.parent;
  if (snapshot === undefined) return live;
  const manifests = readManifestList(await readFile(world, snapshot['manifest-list']));
  for (const { content, manifest_path } of manifests) {
    if (content !== data) continue;
    for (const file of readManifest(await readFile(world, manifest_path)))
      live.set(file.path, [...(live.get(file.path) ?? []), file]);
  }
  return live;
}
