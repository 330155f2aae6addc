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
 * The secret keys that the data folder keeps: the present one, created on the first call, and while
 * it is being exchanged the former one.
 */
export function keptSecretKeys(folder: string): SecretKeys {
  // The present one first: where an exchange begins between the two reads, that one is still
  // accepted afterwards.
  const present = readKept(presentFile(folder)) ?? keptSecretKey(folder);
  const former = readKept(formerFile(folder));
  return former === undefined || former === present ? [present] : [present, former];
}

/** True while a former secret key is kept: an exchange was begun and is not over. */
export function isExchangingKept(folder: string): boolean {
  return keptSecretKeys(folder).length > 1;
}

/**
 * Puts a new secret key in the place of the kept one, which stays beside it as the former one; does
 * nothing while an exchange is under way. Guarantee: whenever the process is killed, every secret
 * key under which something may be sealed is in the folder.
 */
export function exchangeKeptSecretKey(folder: string): void {
  if (isExchangingKept(folder)) return;
  replaceFile(folder, formerFile(folder), keptSecretKeys(folder)[0]);
  replaceFile(folder, presentFile(folder), randomBytes(32).toString('base64url'));
}

/** Ends an exchange: the former secret key is gone for good. Harmless when there is none. */
export function forgetFormerSecretKey(folder: string): void {
  rmSync(formerFile(folder), { force: true });
}

/** Keeps these secret keys in a folder that has none, the present one first. */
export function writeKeptSecretKeys(folder: string, [present, former]: readonly string[]): void {
  if (former !== undefined) replaceFile(folder, formerFile(folder), former);
  if (present !== undefined) replaceFile(folder, presentFile(folder), present);
}

/** The last text read from each file, and the version of the file. */
const lastRead = new Map<string, { version: string; text: string }>();

/** Read again only where the file is another one: each seal asks, and a stat is much less. */
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

/** The file is there with all of the text or as it was; a power cut does not undo it. */
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
