import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Argon2Parameters } from 'node:crypto';
import { promisify } from 'node:util';
import { openSemaphore } from '../pacing/semaphore.ts';

const derive = promisify(argon2);
const memory_kib = 19 * 1024;
const passes = 2;
const parallelism = 1;
const salt_bytes = 16;
const tag_bytes = 32;
const phc =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;
/** One thread of Node's pool of four is left for files and names. */
const at_once_max = 3;
/** About two seconds of work. */
const waiting_max = 100;

/** Thrown if too many passwords wait to be hashed; a retry after some seconds may succeed. */
export class PasswordsBusyError extends Error {
  constructor() {
    super('Too many passwords are being checked at the moment.');
    this.name = 'PasswordsBusyError';
  }
}

/**
 * Returns the argon2id hash of a password (19 MiB, 2 passes, 1 lane, new salt) as a PHC string.
 * Takes about 40 ms outside the event loop. Throws `PasswordsBusyError` if 100 others wait: a
 * process never uses more than 57 MiB for passwords.
 */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(salt_bytes);
  const tag = await derived({
    message: password.normalize('NFKC'),
    nonce: salt,
    memory: memory_kib,
    passes,
    parallelism,
    tagLength: tag_bytes,
  });
  const parameters = `m=${memory_kib},t=${passes},p=${parallelism}`;
  return `$argon2id$v=19$${parameters}$${unpadded(salt)}$${unpadded(tag)}`;
}

/**
 * Returns true if the PHC string was made from the password; false for a string that is not an
 * argon2id PHC string. Compares in constant time. Throws `PasswordsBusyError` like `hashPassword`.
 */
export async function isPassword(password: string, hash: string): Promise<boolean> {
  const match = phc.exec(hash);
  if (match === null) return false;
  const [, memory, time, lanes, salt, tag] = match;
  const wanted = Buffer.from(tag!, 'base64');
  const found = await derived({
    message: password.normalize('NFKC'),
    nonce: Buffer.from(salt!, 'base64'),
    memory: Number(memory),
    passes: Number(time),
    parallelism: Number(lanes),
    tagLength: wanted.length,
  });
  return timingSafeEqual(found, wanted);
}

/**
 * Takes as long as `isPassword` with a hash of `hashPassword` and always returns false: for an
 * account that does not exist or has no password.
 */
export async function isNobodysPassword(password: string): Promise<false> {
  await hashPassword(password);
  return false;
}

const turns = openSemaphore(at_once_max);

/** Derives the hash in its turn. */
async function derived(parameters: Argon2Parameters): Promise<Buffer> {
  if (turns.waiting >= waiting_max) throw new PasswordsBusyError();
  return turns.run(() => derive('argon2id', parameters));
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
