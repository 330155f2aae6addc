import { buffer } from 'node:stream/consumers';
import type { Clock } from '../../../platform/clock.ts';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import type { TableCatalog } from './catalogs/catalog.ts';
import { tableFolder } from './config.ts';
import type { Config, LakePlace, SmallFiles } from '../lake/place.ts';
import type { MetaFiles } from '../lake/store_snapshot.ts';

/** The place of a table's files. */
export type Storage = {
  place: LakePlace;
  config: Config;
  deps: DestinationDeps;
  clock: Clock;
  files: SmallFiles;
  /** The URI of the place, with a slash at its end. */
  root: string;
  team_id: number;
};

/** A table's place and the catalog that has it. */
export type World = Storage & { catalog: TableCatalog };

/** The URI of the table, without a slash at its end. */
export function locationOf({ place, config, root, team_id }: Storage): string {
  return root + tableFolder(place, config, team_id);
}

/**
 * Writes a new small file of the table by its URI. An attempt that was stopped writes none: so its
 * table cannot change while another one removes its files.
 */
export async function putFile(
  { files, root, deps }: Storage,
  uri: string,
  content: Buffer | string,
): Promise<void> {
  deps.signal.throwIfAborted();
  await files.put(nameIn(root, uri), content);
}

/** Reads a file of the table by its URI. Throws if it is gone. */
export async function readFile(
  { files, root }: Pick<Storage, 'files' | 'root'>,
  uri: string,
): Promise<Buffer> {
  const content = await files.read(nameIn(root, uri));
  if (content === undefined) throw new Error(`The file ${uri} is gone.`);
  return buffer(content);
}

/** The small files of a table as the writer of snapshots takes them. */
export function metaFiles(world: Storage): MetaFiles {
  return {
    read: (uri) => readFile(world, uri),
    put: (uri, content) => putFile(world, uri, content),
  };
}

/** A table that was created elsewhere may have files where the export has no keys. */
function nameIn(root: string, uri: string): string {
  if (!uri.startsWith(root)) throw new Error(`The file ${uri} lies outside of ${root}.`);
  return uri.slice(root.length);
}
