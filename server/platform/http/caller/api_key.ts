import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const prefixes = { personal: 'slk_', service: 'slv_', agent: 'sla_' } as const;
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const random_length = 43;
const checksum_length = 6;
const pattern = /^sl[kva]_[0-9A-Za-z]{49}$/;

/**
 * Creates a key: `slk_` for a person, `slv_` for an organization (a service key) or `sla_` for an
 * assistant (a token). Then follow 256 bits, random by default, as 43 base-62 characters, and 6
 * characters of checksum.
 */
export function createApiKey(kind: keyof typeof prefixes = 'personal', bits?: Buffer): string {
  const secret = randomBase62(bits);
  return `${prefixes[kind]}${secret}${checksumOf(secret)}`;
}

/** Returns true for text with the prefix of a service key. */
export function isServiceKey(text: string): boolean {
  return text.startsWith(prefixes.service);
}

/** Returns true if the text has the form of a key and a correct checksum; needs no database. */
export function isWellFormedApiKey(text: string): boolean {
  if (!pattern.test(text)) return false;
  const secret = text.slice(-random_length - checksum_length, -checksum_length);
  return checksumOf(secret) === text.slice(-checksum_length);
}

/** Masks a stored key: shows its first and last four characters. */
export function maskApiKey(key: string): string {
  return `${key.slice(0, 4)}...${key.slice(-4)}`;
}

/**
 * Returns 256 bits, random by default, as 43 base-62 characters (`0-9A-Za-z`, left-padded with
 * `0`).
 */
export function randomBase62(bits: Buffer = randomBytes(32)): string {
  return base62(BigInt(`0x${bits.toString('hex')}`), random_length);
}

/** Returns the CRC-32 (IEEE) of the ASCII text in base 62, six characters. */
function checksumOf(text: string): string {
  return base62(BigInt(crc32(text)), checksum_length);
}

function base62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; rest > 0n; rest /= 62n) text = digits[Number(rest % 62n)]! + text;
  return text.padStart(length, '0');
}
