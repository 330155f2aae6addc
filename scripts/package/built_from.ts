import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../child.ts';

/** Returns a digest of files of the repository, by name and content, in any order. */
export async function digestFiles(files: readonly string[]): Promise<string> {
  const digest = createHash('sha256');
  for (const file of files.toSorted())
    digest.update(`${file}\n`).update(
      createHash('sha256')
        .update(await readFile(join(root, file)))
        .digest(),
    );
  return digest.digest('hex');
}

/** Returns true if a build wrote this digest into its file. */
export async function isBuiltFrom(file: string, digest: string): Promise<boolean> {
  return (await readFile(file, 'utf8').catch(() => undefined)) === digest;
}

/** Imports packages of the build; undefined if they are not installed (`--omit=dev`). */
export async function findTools<T>(load: () => Promise<T>): Promise<T | undefined> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}
