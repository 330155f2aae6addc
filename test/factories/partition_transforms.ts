import { bucketsOf } from '../../server/engine/destinations/lake/transforms.ts';

/** The value of a row from which a partition is computed: text, an integer, or null. */
type Source = string | bigint | boolean | null;

/** A transform of format v2 that this server uses for partitions. */
export type Transform = 'identity' | 'month' | 'day' | 'hour' | `bucket[${number}]`;

const [hour_micros, day_micros] = [3_600_000_000n, 86_400_000_000n];
/**
 * Returns the partition of a value. It is the months, days or hours since 1970 of an instant in
 * microseconds (rounded down, also before 1970), the bucket of its hash, or the value itself. Null
 * stays null.
 */
export function transformed(
  transform: Transform,
  value: Source,
): string | bigint | number | boolean | null {
  if (value === null) return null;
  if (transform === 'identity') return value;
  if (transform === 'month' || transform === 'day' || transform === 'hour') {
    if (typeof value !== 'bigint')
      throw new Error(`The ${transform} of what is no instant is not defined.`);
    if (transform === 'month') return monthsSince1970(value);
    return Number(floored(value, transform === 'day' ? day_micros : hour_micros));
  }
  if (typeof value === 'boolean') throw new Error('A boolean has no bucket.');
  return (murmur3(hashedBytes(value)) & 0x7f_ff_ff_ff) % bucketsOf(transform)!;
}

function monthsSince1970(micros: bigint): number {
  const day = new Date(Number(floored(micros, 1_000n)));
  return (day.getUTCFullYear() - 1970) * 12 + day.getUTCMonth();
}

function floored(value: bigint, unit: bigint): bigint {
  const quotient = value / unit;
  return value < 0n && quotient * unit !== value ? quotient - 1n : quotient;
}

function hashedBytes(value: string | bigint): Buffer {
  if (typeof value === 'string') return Buffer.from(value);
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(value);
  return bytes;
}

const [c1, c2] = [0xcc9e2d51, 0x1b873593];

/** Returns murmur3 of 32 bits for x86 with the seed 0, as a signed integer. */
export function murmur3(bytes: Buffer): number {
  let hash = 0;
  const whole = bytes.length - (bytes.length % 4);
  for (let at = 0; at < whole; at += 4) {
    hash ^= scrambled(bytes.readInt32LE(at));
    hash = (Math.imul(turned(hash, 13), 5) + 0xe6546b64) | 0;
  }
  let rest = 0;
  for (let at = bytes.length - 1; at >= whole; at -= 1) rest = (rest << 8) | bytes[at]!;
  if (whole < bytes.length) hash ^= scrambled(rest);
  hash ^= bytes.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

function scrambled(word: number): number {
  return Math.imul(turned(Math.imul(word, c1), 15), c2);
}

function turned(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
