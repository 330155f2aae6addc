import { buffer } from 'node:stream/consumers';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import { sameUri } from '../../model/lake_catalog/file_uri.ts';
import { tableFolder } from './config.ts';
import type { Config, LakePlace, SmallFiles } from '../lake/place.ts';

/** A table's place and the catalog that has it. */
export type World = {
  place: LakePlace;
  config: Config;
  deps: DestinationDeps;
  /** The control store, in which our catalog lives. */
  db: Database;
  clock: Clock;
  files: SmallFiles;
  /** The URI of the place, with a slash at its end. */
  root: string;
  team_id: number;
};

/** Opens the place of a table; makes no request yet. */
export async function openWorld(
  place: LakePlace,
  config: Config,
  team_id: number,
  deps: DestinationDeps,
): Promise<World> {
  const { db, clock } = deps;
  if (db === undefined || clock === undefined) throw new Error('A table needs the control store.');
  const root = place.root(config, deps);
  const files = await place.openFiles(config, deps);
  return { place, config, deps, db, clock, files, root, team_id };
}

/** The URI of the table, without a slash at its end. */
export function locationOf({ place, config, root, team_id }: World): string {
  return root + tableFolder(place, config, team_id);
}

/**
 * Writes a new small file of the table by its URI. An attempt that was stopped writes none: so its
 * table cannot change while another one removes its files.
 */
export async function putFile(world: World, uri: string, content: Buffer | string): Promise<void> {
  world.deps.signal.throwIfAborted();
  await world.files.put(nameIn(world, uri), content);
}

/** Reads a file of the table by its URI. Throws if it is gone. */
export async function readFile(world: World, uri: string): Promise<Buffer> {
  const content = await world.files.read(nameIn(world, uri));
  if (content === undefined) throw new Error(`The file ${uri} is gone.`);
  return buffer(content);
}

/**
 * A table that was created elsewhere may have files where the export has no keys, and a manifest of
 * another writer may name files of another project.
 */
function nameIn({ root, place, team_id }: World, given: string): string {
  const uri = sameUri(given);
  const folder = place.folder === undefined ? root : `${root}${place.folder(team_id)}/`;
  if (!uri.startsWith(folder) || uri.split('/').some((part) => part === '..' || part === '.'))
    throw new Error(`The file ${uri} lies outside of ${folder}.`);
  return uri.slice(root.length);
}
