import { createDecipheriv } from 'node:crypto';
import { createRequire } from 'node:module';

/**
 * An encrypted private key in the format `openssh-key-v1`, as OpenSSH's PROTOCOL.key defines it.
 */
export type SealedKey = {
  cipher: { name: string; key_bytes: number };
  salt: Buffer;
  rounds: number;
  /** The number of keys and the public ones, as in the file. */
  public_part: Buffer;
  private_part: Buffer;
};

/** The package has no types; it fills `derived` and returns 0, or -1 for invalid arguments. */
type Stretch = (
  secret: Buffer,
  secret_bytes: number,
  salt: Buffer,
  salt_bytes: number,
  derived: Buffer,
  derived_bytes: number,
  rounds: number,
) => 0 | -1;

const require = createRequire(import.meta.url);
const magic = 'openssh-key-v1\0';
const block_bytes = 16;

/**
 * Reads the form of an encrypted OpenSSH key, without its passphrase; undefined for any other text
 * and for another cipher than AES in the modes CTR or CBC.
 */
export function readSealedKey(private_key: string): SealedKey | undefined {
  const inner = /^-----BEGIN OPENSSH PRIVATE KEY-----([^-]*)-----END/.exec(private_key.trim());
  const data = Buffer.from(inner?.[1] ?? '', 'base64');
  if (data.toString('latin1', 0, magic.length) !== magic) return undefined;
  try {
    let at = magic.length;
    const next = (): Buffer => {
      const start = at + 4;
      at = start + data.readUInt32BE(at);
      if (at > data.length) throw new RangeError('The key ends too early.');
      return data.subarray(start, at);
    };
    const name = next().toString('latin1');
    const bits = /^aes(128|192|256)-c(?:tr|bc)$/.exec(name)?.[1];
    const [kdf, options] = [next().toString('latin1'), next()];
    if (bits === undefined || kdf !== 'bcrypt') return undefined;
    const salt_end = 4 + options.readUInt32BE(0);
    const public_start = at;
    const keys = data.readUInt32BE(at);
    at += 4;
    for (let key = 0; key < keys; key += 1) next();
    return {
      cipher: { name: name.replace(/^aes/, 'aes-'), key_bytes: Number(bits) / 8 },
      salt: options.subarray(4, salt_end),
      rounds: options.readUInt32BE(salt_end),
      public_part: data.subarray(public_start, at),
      private_part: next(),
    };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/**
 * Returns the same key in the same format without encryption, or undefined if the passphrase is
 * wrong. Takes some 40 ms of processor time per round, and blocks meanwhile.
 */
export function openSealedKey(sealed: SealedKey, passphrase: string): string | undefined {
  const { cipher, salt, rounds, public_part, private_part } = sealed;
  if (private_part.length % block_bytes !== 0) return undefined;
  const derived = Buffer.alloc(cipher.key_bytes + block_bytes);
  const secret = Buffer.from(passphrase);
  const { pbkdf } = require('bcrypt-pbkdf') as { pbkdf: Stretch };
  if (pbkdf(secret, secret.length, salt, salt.length, derived, derived.length, rounds) !== 0)
    return undefined;
  const key = derived.subarray(0, cipher.key_bytes);
  const start = derived.subarray(cipher.key_bytes);
  const decipher = createDecipheriv(cipher.name, key, start).setAutoPadding(false);
  const opened = Buffer.concat([decipher.update(private_part), decipher.final()]);
  // The format begins the private part with one random number, twice.
  if (opened.readUInt32BE(0) !== opened.readUInt32BE(4)) return undefined;
  const plain = Buffer.concat([
    Buffer.from(magic),
    ...['none', 'none', ''].map((word) => sized(Buffer.from(word))),
    public_part,
    sized(opened),
  ]);
  const lines = plain.toString('base64').match(/.{1,70}/g)!;
  return [
    '-----BEGIN OPENSSH PRIVATE KEY-----',
    ...lines,
    '-----END OPENSSH PRIVATE KEY-----',
    '',
  ].join('\n');
}

function sized(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
