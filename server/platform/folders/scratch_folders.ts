import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';

const prefix = 'sluice-scratch-';
/** The machine's name: containers may share the folder, and each has its own process ids. */
const host = hostname().replaceAll(/[^A-Za-z0-9]/g, '');

/** Creates a folder for temporary files of this process, which nobody else may read. */
export function newScratchFolder(kind: string): Promise<string> {
  return mkdtemp(join(tmpdir(), `${prefix}${host}-${process.pid}-${kind}-`));
}

/**
 * Removes the folders of this machine's killed processes, and returns their number. Call it before
 * this process has any: an earlier one may have had the same id.
 */
export async function removeDeadFolders(): Promise<number> {
  const own = new RegExp(`^${prefix}${host}-(\\d+)-`);
  let removed = 0;
  for (const name of await readdir(tmpdir())) {
    const pid = Number(own.exec(name)?.[1]);
    if (Number.isNaN(pid) || (pid !== process.pid && isAlive(pid))) continue;
    await rm(join(tmpdir(), name), { recursive: true, force: true });
    removed += 1;
  }
  return removed;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process is alive although it cannot be signalled.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
