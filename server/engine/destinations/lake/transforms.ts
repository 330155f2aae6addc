import { murmur3 } from './murmur3.ts';

/** The value of a row that a partition is made of: text, an integer, or null. */
type Source = string | bigint | null;

/** A transform of format v2 that this server makes partitions with. */
export type Transform = 'identity' | 'day' | 'hour' | `bucket[${number}]`;

const [hour_micros, day_micros] = [3_600_000_000n, 86_400_000_000n];

/**
 * Returns the partition of a value: days or hours since 1970 of an instant in microseconds (rounded
 * down, also before 1970), the bucket of its hash, or the value itself. Null stays null.
 */
export function transformed(transform: Transform, value: Source): string | bigint | number | null {
  if (value === null) return null;
  if (transform === 'identity') return value;
  if (transform === 'day' || transform === 'hour') {
    if (typeof value !== 'bigint') throw new Error(`The ${transform} of a text is not defined.`);
    return Number(floored(value, transform === 'day' ? day_micros : hour_micros));
  }
  const buckets = Number(/^bucket\[(\d+)\]$/.exec(transform)?.[1]);
  return (murmur3(hashedBytes(value)) & 0x7f_ff_ff_ff) % buckets;
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
