import { once } from 'node:events';
import {
  accessSync,
  constants,
  createReadStream,
  existsSync,
  mkdirSync,
  statSync,
  statfsSync,
} from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Readable } from 'node:stream';

// Virtual file systems of the kernel: proc, sysfs, cgroup, cgroup2, debugfs.
const kernel_file_systems = new Set([0x9fa0, 0x62656572, 0x27e0eb, 0x63677270, 0x64626720]);

/**
 * Creates the folder and its parents; does nothing if it exists. Throws the system's error. Unlike
 * `mkdir` with `recursive`, it always ends: that one retries for ever below /proc.
 */
export function createFoldersSync(folder: string, mode = 0o777): void {
  const path = resolve(folder);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (hasFolder(path)) return;
    if (!isMissing(error) || dirname(path) === path) throw error;
    // Another process may have created the parent in between, so this folder is tried once more.
    if (!hasFolder(dirname(path))) createFoldersSync(dirname(path), mode);
    try {
      mkdirSync(path, { mode });
    } catch (again) {
      if (!hasFolder(path)) throw again;
    }
  }
}

/** Does the same without blocking the process. */
export async function createFolders(folder: string): Promise<void> {
  const path = resolve(folder);
  try {
    await mkdir(path);
  } catch (error) {
    if (await isFolder(path)) return;
    if (!isMissing(error) || dirname(path) === path) throw error;
    if (!(await isFolder(dirname(path)))) await createFolders(dirname(path));
    await mkdir(path).catch(async (again: unknown) => {
      if (!(await isFolder(path))) throw again;
    });
  }
}

/**
 * A folder as it is, or as it could be created: its free bytes, whether its file system can create
 * files, or why it is unusable. `is_no_folder`: something else has its name or a parent's name.
 */
export type FoundFolder =
  | {
      exists: boolean;
      free_bytes: number;
      is_out_of_inodes: boolean;
      problem?: undefined;
      is_no_folder?: undefined;
    }
  | { problem: string; is_no_folder: boolean };

/** Checks whether this process can write to the folder, or could create it. Changes nothing. */
export function lookAtFolder(folder: string): FoundFolder {
  const path = resolve(folder);
  let present = path;
  while (!hasFolder(present)) {
    if (existsSync(present)) return { problem: `${present} is not a folder`, is_no_folder: true };
    present = dirname(present);
  }
  const disk = statfsSync(present);
  if (kernel_file_systems.has(disk.type))
    return { problem: `${present} is the kernel's own and takes no files`, is_no_folder: false };
  try {
    accessSync(present, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { problem: `${present} cannot be written (${code})`, is_no_folder: false };
  }
  // A file system without a limit reports a total of zero.
  const is_out_of_inodes = disk.files > 0 && disk.ffree === 0;
  return { exists: present === path, free_bytes: disk.bavail * disk.bsize, is_out_of_inodes };
}

/** Makes the names in a folder survive a power failure. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Opens a file's content at once, so that a missing or forbidden file fails here and not in the
 * stream.
 */
export async function openContent(path: string): Promise<Readable> {
  const stream = createReadStream(path, { highWaterMark: 1024 * 1024 });
  await once(stream, 'open');
  return stream;
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

/** Also false if it is invisible, because a parent is unreadable or no folder. */
function hasFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
