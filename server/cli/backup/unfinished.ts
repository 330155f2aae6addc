import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Manifest, Stretch } from './manifest.ts';
import type { BackupPlace } from './places/place.ts';

/**
 * The parts that a backup in progress has written; `control` is the folder of its control store.
 */
export type Unfinished = { stretches: Stretch[]; control: string | undefined };

const unfinished = 'unfinished.json';

/** Keeps it for the backup that goes on after a kill or a fault. */
export async function keepUnfinished(
  place: BackupPlace,
  server: string,
  { stretches, control }: Unfinished,
): Promise<void> {
  const kept = JSON.stringify({ server, stretches, control });
  await place.write(unfinished, Readable.from([kept]));
}

/** Finds the parts that an unfinished backup of this server had written; empty without one. */
export async function findUnfinished(place: BackupPlace, server: string): Promise<Unfinished> {
  const nothing = { stretches: [], control: undefined };
  const content = await place.read(unfinished);
  if (content === undefined) return nothing;
  try {
    const found = JSON.parse(await text(content)) as { server: string } & Unfinished;
    return found.server === server ? found : nothing;
  } catch {
    return nothing;
  }
}

/** Nothing is under way any more. */
export async function forgetUnfinished(place: BackupPlace): Promise<void> {
  await place.remove(unfinished);
}

/**
 * Removes what a backup that has not ended has copied of the control store, which every backup
 * copies anew; not where it had ended but for the word of it, and `newest` needs these files.
 */
export async function removeControl(
  place: BackupPlace,
  control: string | undefined,
  newest: Pick<Manifest, 'tables'> | undefined,
): Promise<void> {
  if (control === undefined || !/^control\/[\w-]+\/$/.test(control)) return;
  if (newest?.tables.some(({ file }) => file?.name.startsWith(control))) return;
  for await (const name of place.list(control)) await place.remove(name);
}
