import { counted } from '../../platform/counted.ts';
import { filesOf, listBackups, readManifest, removeManifest } from './manifest.ts';
import type { BackupPlace } from './places/place.ts';
import { isWrittenName } from './places/written_names.ts';

/**
 * Removes all backups but the newest `keep`, and all files that none of these needs, also those
 * that a kill has left; what no backup wrote stays. No backup may be under way: its files are named
 * by none yet.
 */
export async function prune(place: BackupPlace, keep: number): Promise<string> {
  const names = await listBackups(place);
  const kept = names.slice(-keep);
  const removed = names.slice(0, names.length - kept.length);
  const needed = new Set<string>();
  for (const name of kept)
    for (const file of filesOf((await readManifest(place, name)).manifest)) needed.add(file.name);
  // First the manifests: what is listed is whole at any time.
  for (const name of removed) await removeManifest(place, name);
  for (const folder of ['analytics/', 'control/'])
    for await (const name of place.list(folder))
      if (isWrittenName(name) && !needed.has(name)) await place.remove(name);
  return `Keeps the newest ${keep}: removed ${counted(removed.length, 'older backup')}.`;
}
