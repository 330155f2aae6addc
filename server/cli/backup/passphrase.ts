import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Config } from '../../config/config.ts';
import { WrongUsageError } from '../user_error.ts';

/** The secret keys of the server, as stored in a backup. */
export type SealedKeys = { salt: string; sealed: string };

const characters_min = 12;
const key_bytes = 32;
const iv_bytes = 12;
const tag_bytes = 16;
// About 0.3 s and 128 MiB for each try.
const cost = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };

/** Returns the passphrase of the file or the settings. Throws a `UserError` if there is none. */
export function readPassphrase(config: Config, file: string | undefined): string {
  const text = file === undefined ? config.backup_passphrase : readFile(file);
  if (text === undefined)
    throw new WrongUsageError(
      'A backup encrypts the secret key with a passphrase: set one of at least ' +
        `${characters_min} characters with SLUICE_BACKUP_PASSPHRASE or --passphrase-file.`,
    );
  if (text.length < characters_min)
    throw new WrongUsageError(`The passphrase must have at least ${characters_min} characters.`);
  return text;
}

function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    throw new WrongUsageError(`The file ${path} with the passphrase cannot be read.`);
  }
}

/**
 * Seals the keys with the passphrase (scrypt, AES-256-GCM). They open only together with `bound`,
 * so that nobody without the passphrase can change these facts. A process uses one salt per
 * passphrase, and one initialization vector per sealing.
 */
export async function sealKeys(
  keys: readonly string[],
  passphrase: string,
  bound: string,
): Promise<SealedKeys> {
  const salt = last?.passphrase === passphrase ? last.salt : randomBytes(16);
  const key = await keyOf(passphrase, salt);
  last = { passphrase, salt, key };
  const iv = randomBytes(iv_bytes);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  cipher.setAAD(Buffer.from(bound));
  const body = Buffer.concat([cipher.update(JSON.stringify(keys)), cipher.final()]);
  const sealed = Buffer.concat([iv, cipher.getAuthTag(), body]);
  return { salt: salt.toString('base64'), sealed: sealed.toString('base64') };
}

/** Returns the opened keys; undefined if the passphrase is wrong or `bound` was changed. */
export async function openKeys(
  { salt, sealed }: SealedKeys,
  passphrase: string,
  bound: string,
): Promise<string[] | undefined> {
  const bytes = Buffer.from(sealed, 'base64');
  const salted = { passphrase, salt: Buffer.from(salt, 'base64') };
  const key = await keyOf(passphrase, salted.salt);
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, iv_bytes), {
    authTagLength: tag_bytes,
  });
  decipher.setAAD(Buffer.from(bound));
  decipher.setAuthTag(bytes.subarray(iv_bytes, iv_bytes + tag_bytes));
  try {
    const body = bytes.subarray(iv_bytes + tag_bytes);
    const text = Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
    last = { ...salted, key };
    return JSON.parse(text) as string[];
  } catch {
    return undefined;
  }
}

/**
 * The last key that sealed or opened something. A key that opens nothing is not stored here. A
 * backup is sealed with the key that opened the one before, and read with the same key (`drill`):
 * one derivation for both.
 */
let last: { passphrase: string; salt: Buffer; key: Buffer } | undefined;

async function keyOf(passphrase: string, salt: Buffer): Promise<Buffer> {
  if (last?.passphrase === passphrase && last.salt.equals(salt)) return last.key;
  const derive = promisify<string, Buffer, number, typeof cost, Buffer>(scrypt);
  return derive(passphrase, salt, key_bytes, cost);
}
