import type { Readable } from 'node:stream';

/** A place for backups. Names have `/` between folders. */
export type BackupPlace = {
  /** The name from the command line, without secrets. */
  name: string;
  /** Writes the stream atomically: the file is complete, also after a kill, or does not exist. */
  write(name: string, bytes: Readable): Promise<void>;
  /** Returns the content, or undefined if the name does not exist. */
  read(name: string): Promise<Readable | undefined>;
  /** Returns the size in bytes, or undefined if the name does not exist. */
  size(name: string): Promise<number | undefined>;
  /** Lists the names that start with the folder, in any order. */
  list(folder: string): AsyncIterable<string>;
  /** Does nothing if the name does not exist. */
  remove(name: string): Promise<void>;
  /** Deletes the partial files of killed writes. No backup may be in progress. */
  tidy(): Promise<void>;
};

/** Number of concurrent requests to a bucket. */
const at_once = 16;

/** Returns the names of those files that exist with the right size. */
export async function presentFiles(
  place: BackupPlace,
  files: { name: string; bytes: number }[],
): Promise<Set<string>> {
  const present = new Set<string>();
  const waiting = files.values();
  const ask = async () => {
    for (const { name, bytes } of waiting)
      if ((await place.size(name)) === bytes) present.add(name);
  };
  await Promise.all(Array.from({ length: at_once }, ask));
  return present;
}
