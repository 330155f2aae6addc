import { createWriteStream, statSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { mkdir, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { lookAtFolder, openContent, syncFolder } from '../../../platform/folders/folders.ts';
import { UserError } from '../../user_error.ts';
import type { BackupPlace } from './place.ts';
import { isWrittenName, written_folders } from './written_names.ts';

/** Ending of a file in progress; a kill may leave one, which `tidy` deletes. */
const draft_ending = '.draft';

/** Opens a folder. Throws a `UserError` if it is no folder, or cannot be read or written. */
export function openFolderPlace(address: string): BackupPlace {
  const root = resolve(address);
  const found = lookAtFolder(root);
  // Also refuses a path below a file; only a write needs write access.
  if (found.is_no_folder === true) throw new UserError(`${found.problem}.`);
  const pathOf = (name: string) => join(root, ...name.split('/'));
  return {
    name: root,
    write: async (name, bytes) => {
      const { problem } = lookAtFolder(root);
      if (problem !== undefined) throw new UserError(`${problem}.`);
      const path = pathOf(name);
      try {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        await writeDurably(`${path}${draft_ending}`, bytes);
        await rename(`${path}${draft_ending}`, path);
        await syncFolder(dirname(path));
      } catch (error) {
        throw isFullFolder(error) ? fullPlace(root) : error;
      }
    },
    read: (name) => unlessMissing(() => openContent(pathOf(name))),
    size: (name) => unlessMissing(async () => (await stat(pathOf(name))).size),
    list: async function* (folder) {
      for (const name of await namesBelow(root, folder))
        if (!name.endsWith(draft_ending)) yield name;
    },
    remove: async (name) => {
      await rm(pathOf(name), { force: true });
      // The folder of a copy is deleted with its last file.
      if (dirname(pathOf(name)) !== root) await rmdir(dirname(pathOf(name))).catch(() => {});
    },
    tidy: async () => {
      for (const folder of written_folders)
        for (const name of await namesBelow(root, folder))
          if (name.endsWith(draft_ending) && isWrittenName(name.slice(0, -draft_ending.length)))
            await rm(pathOf(name), { force: true });
    },
  };
}

async function namesBelow(root: string, folder: string): Promise<string[]> {
  const found = await unlessMissing(() =>
    readdir(join(root, folder), { recursive: true, withFileTypes: true }),
  );
  return (found ?? [])
    .filter((entry) => entry.isFile() || (entry.isSymbolicLink() && isLinkToFile(entry)))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'));
}

function isLinkToFile({ parentPath, name }: Dirent): boolean {
  return statSync(join(parentPath, name), { throwIfNoEntry: false })?.isFile() === true;
}

/** Only a full disk of the place counts, not one of a store. */
function isFullFolder(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall !== undefined && (code === 'ENOSPC' || code === 'EDQUOT');
}

function fullPlace(root: string): UserError {
  return new UserError(
    `There is no room left in ${root}: the backup was not finished; older backups there are ` +
      'intact. Make room there, then back up again: it continues from here.',
  );
}

async function writeDurably(path: string, bytes: Readable): Promise<void> {
  try {
    // `flush`: it is on disk before it gets its name.
    await pipeline(bytes, createWriteStream(path, { flush: true, mode: 0o600 }));
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

async function unlessMissing<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code === 'EACCES' || code === 'ENOTDIR') throw new UserError(message);
    throw error;
  }
}
