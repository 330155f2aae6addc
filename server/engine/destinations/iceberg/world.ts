import type { Readable } from 'node:stream';
import type { Clock } from '../../../platform/clock.ts';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import type { TableCatalog } from './catalogs/catalog.ts';
import { sameUri } from '../../model/lake_catalog/file_uri.ts';
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
  /** The URI of the place, with a trailing slash. */
  root: string;
  /** The URI below which the files of the project lie. */
  base: string;
  team_id: number;
};

/** A table's place and its catalog. */
export type World = Storage & {
  catalog: TableCatalog;
  /** The config of the data files, for the destination of their place. */
  data: Config;
};

/** Returns the URI of the table, without a trailing slash. */
export function locationOf({
  place,
  config,
  root,
  team_id,
}: Pick<Storage, 'place' | 'config' | 'root' | 'team_id'>): string {
  return root + tableFolder(place, config, team_id);
}

/**
 * Writes a new small file of the table by its URI. A stopped attempt writes none, so its table
 * cannot change while another one removes its files.
 */
export async function putFile(
  storage: Storage,
  uri: string,
  content: Buffer | string,
): Promise<void> {
  storage.deps.signal.throwIfAborted();
  await storage.files.put(nameIn(storage, uri), content);
}

/** Reads a file of the table by its URI. Throws if it is gone. */
export async function readFile(storage: Storage, uri: string): Promise<Buffer> {
  // Node's consumer of streams takes a detour through a Blob: a look reads hundreds of manifests.
  return Buffer.concat(await Array.fromAsync<Buffer>(await readData(storage, uri)));
}

/** Reads a data file of the table by its URI. Throws if it is gone. */
export async function readData(storage: Storage, uri: string): Promise<Readable> {
  const content = await storage.files.read(nameIn(storage, uri));
  if (content === undefined) throw new Error(`The file ${uri} is gone.`);
  return content;
}

/** Returns the small files of a table in the form that the writer of snapshots needs. */
export function metaFiles(world: Storage): MetaFiles {
  return {
    read: (uri) => readFile(world, uri),
    put: (uri, content) => putFile(world, uri, content),
  };
}

/** Returns true for a URI in the project's own place: other writers may name any. */
export function isInPlace({ base }: Pick<Storage, 'base'>, uri: string): boolean {
  return uri.startsWith(base) && !uri.split('/').some((part) => part === '..' || part === '.');
}

function nameIn(storage: Storage, given: string): string {
  const uri = sameUri(given);
  if (!isInPlace(storage, uri)) throw new Error(`The file ${uri} lies outside of ${storage.base}.`);
  return uri.slice(storage.root.length);
}
