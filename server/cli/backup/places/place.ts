import type { Readable } from 'node:stream';

/** A place for backups. Names have `/` between folders. */
export type BackupPlace = {
  /** As the person named it, without secrets. */
  name: string;
  /** Writes what the stream gives: it is there whole, also after a kill, or not at all. */
  write(name: string, bytes: Readable): Promise<void>;
  /** The content, or undefined when there is nothing of this name. */
  read(name: string): Promise<Readable | undefined>;
  /** The size in bytes, or undefined when there is nothing of this name. */
  size(name: string): Promise<number | undefined>;
  /** Names that begin with the folder, in any order. */
  list(folder: string): AsyncIterable<string>;
  /** Harmless when there is nothing of this name. */
  remove(name: string): Promise<void>;
  /** Ends what killed writes have left half-written. No backup may be under way. */
  tidy(): Promise<void>;
};

/** Number of concurrent requests to a bucket. */
const at_once = 16;

/** The names of those files that are there with the bytes that they must have. */
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
