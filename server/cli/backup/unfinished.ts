import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Manifest, Stretch } from './manifest.ts';
import type { BackupPlace } from './places/place.ts';

/**
 * The parts that a backup in progress has written; `control` is the folder of its control store.
 */
export type Unfinished = { stretches: Stretch[]; control: string | undefined };

const unfinished = 'unfinished.json';

/** Stores them for the backup that continues after a kill or an error. */
export async function keepUnfinished(
  place: BackupPlace,
  server: string,
  { stretches, control }: Unfinished,
): Promise<void> {
  const kept = JSON.stringify({ server, stretches, control });
  await place.write(unfinished, Readable.from([kept]));
}

/**
 * Returns the parts that an unfinished backup of this server has written; empty if there is none.
 */
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

/** Records that no backup is in progress. */
export async function forgetUnfinished(place: BackupPlace): Promise<void> {
  await place.remove(unfinished);
}

/**
 * Deletes an unfinished backup's copy of the control store, because every backup copies it again.
 * Keeps it if the backup was complete except for this record, because `newest` then needs these
 * files.
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
