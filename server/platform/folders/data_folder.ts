import { randomBytes } from 'node:crypto';
import {
  accessSync,
  constants,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createFoldersSync, lookAtFolder } from './folders.ts';
import { parseJson } from '../json/parse_json.ts';

/**
 * Thrown if another live server works on the folder; the message names the process and the action.
 */
export class FolderInUseError extends Error {
  readonly pid: number;
  constructor(folder: string, pid: number) {
    super(
      `The data folder ${folder} is in use by another Sluice server (process ${pid}). Stop ` +
        'that server first, or set SLUICE_DATA_DIR to another folder.',
    );
    this.name = 'FolderInUseError';
    this.pid = pid;
  }
}

/** Thrown if the folder cannot be created or written. */
export class FolderUnusableError extends Error {
  constructor(folder: string, code: string) {
    const { problem, is_no_folder = false } = lookAtFolder(folder);
    const remedy =
      code === 'EROFS' ? 'Mount its file system for writing' : 'Give this user the right to';
    super(
      is_no_folder
        ? `The data folder ${folder} cannot be created: ${problem}. Name another one with ` +
            'SLUICE_DATA_DIR.'
        : `The data folder ${folder} cannot be created or written (${code}). ${remedy}, or name ` +
            'another one with SLUICE_DATA_DIR.',
    );
    this.name = 'FolderUnusableError';
  }
}

/**
 * The holder of a lock. A process id alone is not enough: ids are reused, after a restart of a
 * container from 1 on.
 */
type Holder = { pid: number; started: string };

/**
 * Locks the folder for this process, creates it (mode 0700) if it does not exist, and returns the
 * function that releases it. Guarantee: of two live processes on one machine, only one holds the
 * folder; the lock of a killed process is replaced.
 */
export function lockDataFolder(folder: string): () => void {
  createDataFolder(folder);
  const path = join(folder, 'server.lock');
  const mine = JSON.stringify(holderOf(process.pid));
  const draft = `${path}.${process.pid}`;
  try {
    writeFileSync(draft, mine, { mode: 0o600, flush: true });
    for (;;) {
      try {
        // link() fails if the name exists, so exactly one process creates the lock, and it is
        // complete when it appears.
        linkSync(draft, path);
        return () => release(path, mine);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const text = lockText(folder, path);
      if (text === undefined) continue;
      const holder = holderIn(text);
      if (holder !== undefined && isAlive(holder)) throw new FolderInUseError(folder, holder.pid);
      setAside(path, text);
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Returns the process that holds the folder now, or undefined. */
export function findFolderHolder(folder: string): number | undefined {
  const holder = holderIn(textOf(join(folder, 'server.lock')) ?? '');
  return holder !== undefined && isAlive(holder) ? holder.pid : undefined;
}

/**
 * Returns the server's secret key: stored in the folder, created on the first call, readable only
 * by the owner.
 */
export function keptSecretKey(folder: string): string {
  createDataFolder(folder);
  const path = join(folder, 'secret_key');
  const draft = `${path}.${process.pid}`;
  try {
    writeFileSync(draft, randomBytes(32).toString('base64url'), { mode: 0o600, flush: true });
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return readFileSync(path, 'utf8').trim();
}

function createDataFolder(folder: string): void {
  try {
    createFoldersSync(folder, 0o700);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new FolderUnusableError(folder, (error as NodeJS.ErrnoException).code ?? 'unknown');
  }
}

function release(path: string, mine: string): void {
  if (textOf(path) === mine) rmSync(path, { force: true });
}

function setAside(path: string, stale: string): void {
  const aside = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  // Between reading and renaming, another process may have replaced the lock; the moved file is
  // then its live lock, and goes back.
  if (textOf(aside) !== stale) linkSync(aside, path);
  rmSync(aside, { force: true });
}

/** Returns the content of the lock, or undefined if it has disappeared meanwhile. */
function lockText(folder: string, path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new FolderUnusableError(folder, code);
  }
}

/** Returns the holder in a lock, or undefined if a power failure left the lock damaged. */
function holderIn(text: string): Holder | undefined {
  const { pid, started } = (parseJson(text) ?? {}) as Partial<Holder>;
  return Number.isSafeInteger(pid) && pid! > 0 ? { pid: pid!, started: started ?? '' } : undefined;
}

function isAlive(holder: Holder): boolean {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const found = findStat(holder.pid);
  // A killed process keeps its id until its parent collects it, which may never happen in a
  // container without an init.
  if (found?.state === 'Z' || found?.state === 'X') return false;
  return holderOf(holder.pid).started === holder.started;
}

/**
 * Returns the identity of a process: on Linux its start time and the boot, elsewhere only the id.
 */
function holderOf(pid: number): Holder {
  const found = findStat(pid);
  if (found === undefined) return { pid, started: '' };
  const boot = textOf('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
  return { pid, started: `${boot}/${found.started}` };
}

/** Reads the state of a process and the tick at which it started, from Linux. */
function findStat(pid: number): { state: string; started: string } | undefined {
  const stat = textOf(`/proc/${pid}/stat`);
  // The command name in field 2 may contain spaces and parentheses; the state is field 3, the start
  // time field 22.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields && { state: fields[0] ?? '', started: fields[19] ?? '' };
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
