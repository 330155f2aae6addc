import { counted } from '../../platform/counted.ts';
import { filesOf, listBackups, readManifest, removeManifest } from './manifest.ts';
import type { BackupPlace } from './places/place.ts';
import { isWrittenName } from './places/written_names.ts';

/**
 * Deletes all backups except the newest `keep`, and all files that none of these needs, also
 * leftovers of a kill. Files that no backup wrote stay. No backup may be in progress, because no
 * manifest names its files yet.
 */
export async function prune(place: BackupPlace, keep: number): Promise<string> {
  const names = await listBackups(place);
  const kept = names.slice(-keep);
  const removed = names.slice(0, names.length - kept.length);
  const needed = new Set<string>();
  for (const name of kept)
    for (const file of filesOf((await readManifest(place, name)).manifest)) needed.add(file.name);
  // The manifests are deleted first, so that listed backups are always complete.
  for (const name of removed) await removeManifest(place, name);
  for (const folder of ['analytics/', 'control/'])
    for await (const name of place.list(folder))
      if (isWrittenName(name) && !needed.has(name)) await place.remove(name);
  return `Keeps the newest ${keep}: removed ${counted(removed.length, 'older backup')}.`;
}
