import { randomUUID } from 'node:crypto';
import {
  link,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { createFolders, syncFolder } from '../../../platform/folders/folders.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import { isMissing } from './faults.ts';

/**
 * Returns the absolute path of a folder below `root`, created if it does not exist. Guarantee: it
 * creates nothing outside `root` and returns no path there, even if a part is a symbolic link; it
 * throws then. Adds newly created folders to `created`, outermost first.
 */
export async function createFolder(
  root: string,
  folder: string,
  created: string[] = [],
): Promise<string> {
  await createFolders(root).catch((error: unknown) => {
    throw isMissing(error) ? noRoot() : error;
  });
  const realRoot = await realpath(root);
  let path = realRoot;
  for (const part of folder.split('/').filter((name) => name !== '')) {
    const next = join(path, part);
    await mkdir(next).then(
      () => void created.push(next),
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      },
    );
    path = await realpath(next);
    if (!isInside(realRoot, path)) throw leaves();
  }
  return path;
}

function noRoot(): NonRetryableError {
  return new NonRetryableError(
    'permission_denied',
    'The export folder cannot be created; the operator must name another one with ' +
      'SLUICE_EXPORT_DIR.',
  );
}

/** Removes folders that `createFolder` created, if they are empty. */
export async function removeFolders(created: string[]): Promise<void> {
  for (const path of created.toReversed()) {
    try {
      await rmdir(path);
    } catch (error) {
      if (
        !(
          error instanceof Error &&
          'code' in error &&
          ['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(String(error.code))
        )
      )
        throw error;
    }
  }
}

/**
 * Returns the real path of a file below `root`, or undefined if it does not exist. Throws if it
 * lies outside.
 */
export async function findInside(root: string, name: string): Promise<string | undefined> {
  try {
    const path = await realpath(join(root, ...name.split('/')));
    if (!isInside(await realpath(root), path)) throw leaves();
    return path;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

function leaves(): NonRetryableError {
  return new NonRetryableError(
    'invalid_path',
    'The prefix leads out of the export folder, through a symbolic link or dots; choose ' +
      'another prefix.',
  );
}

/** Returns the size in bytes, or undefined if the file does not exist. */
export async function findSize(path: string): Promise<number | undefined> {
  try {
    const found = await stat(path);
    return found.isFile() ? found.size : undefined;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Lists the names in a folder; empty if it does not exist. */
export async function listNames(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Yields the visible files below a folder, or directly in it, without following links. */
export async function* filesBelow(
  path: string,
  folder: string,
  { direct }: { direct: boolean },
): AsyncGenerator<string> {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const name = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (!entry.isDirectory()) {
      if (!entry.name.startsWith('.')) yield name;
    } else if (!direct) yield* filesBelow(join(path, entry.name), name, { direct });
  }
}

/** Moves a file to its final name. Returns false if it does not exist. */
export async function moveInto(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/**
 * Replaces a small file in one step: readers see the old or the new content, and the new one
 * survives a power failure.
 */
export async function replaceFile(path: string, content: Buffer | string): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.tmp`);
  const handle = await open(temporary, 'w');
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, path);
  await syncFolder(dirname(path));
}

/**
 * Creates a small file in one step, and returns false if the name exists. Others see it completely
 * or not at all, and it survives a power failure.
 */
export async function createFile(path: string, content: Buffer | string): Promise<boolean> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`);
  try {
    await writeFile(temporary, content, { flush: true });
    // A link, unlike a rename, never replaces a file.
    await link(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  } finally {
    await rm(temporary, { force: true });
  }
  await syncFolder(dirname(path));
  return true;
}

/** Removes files. Missing ones are no error. */
export async function removeAll(paths: string[]): Promise<void> {
  for (const path of paths) await rm(path, { force: true });
}
