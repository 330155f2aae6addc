import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { keptSecretKey } from '../folders/data_folder.ts';
import type { SecretKeys } from './secrets.ts';

const presentFile = (folder: string) => join(folder, 'secret_key');
const formerFile = (folder: string) => join(folder, 'secret_key.previous');

/**
 * Returns the secret keys in the data folder: the present one, created on the first call, and the
 * former one during a rotation.
 */
export function keptSecretKeys(folder: string): SecretKeys {
  // The present one first: if a rotation begins between the two reads, it is still accepted
  // afterwards.
  const present = readKept(presentFile(folder)) ?? keptSecretKey(folder);
  const former = readKept(formerFile(folder));
  return former === undefined || former === present ? [present] : [present, former];
}

/** Returns true while a former secret key is stored: a rotation has begun and not ended. */
export function isExchangingKept(folder: string): boolean {
  return keptSecretKeys(folder).length > 1;
}

/**
 * Replaces the stored secret key by a new one and keeps the old one as the former key; does nothing
 * during a rotation. Guarantee: after a kill at any point, the folder has every secret key under
 * which something may be sealed.
 */
export function exchangeKeptSecretKey(folder: string): void {
  if (isExchangingKept(folder)) return;
  replaceFile(folder, formerFile(folder), keptSecretKeys(folder)[0]);
  replaceFile(folder, presentFile(folder), randomBytes(32).toString('base64url'));
}

/** Ends a rotation: the former secret key is deleted for good. Does nothing without one. */
export function forgetFormerSecretKey(folder: string): void {
  rmSync(formerFile(folder), { force: true });
}

/** Stores these secret keys in a folder that has none, the present one first. */
export function writeKeptSecretKeys(folder: string, [present, former]: readonly string[]): void {
  if (former !== undefined) replaceFile(folder, formerFile(folder), former);
  if (present !== undefined) replaceFile(folder, presentFile(folder), present);
}

/** The last text read from each file, and the version of the file. */
const lastRead = new Map<string, { version: string; text: string }>();

/** Only read again if the file has changed: each seal asks, and a stat is much cheaper. */
function readKept(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  const version = `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
  const last = lastRead.get(path);
  if (last?.version === version) return last.text;
  try {
    const text = readFileSync(path, 'utf8').trim();
    lastRead.set(path, { version, text });
    return text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * The file has either all of the new text or all of the old one; a power failure does not undo the
 * change.
 */
function replaceFile(folder: string, path: string, text: string): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, text, { mode: 0o600, flush: true });
  renameSync(draft, path);
  const directory = openSync(folder, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
