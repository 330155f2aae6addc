import { murmur3 } from './murmur3.ts';

/** The value of a row from which a partition is computed: text, an integer, or null. */
type Source = string | bigint | boolean | null;

/** A transform of format v2 that this server uses for partitions. */
export type Transform = 'identity' | 'month' | 'day' | 'hour' | `bucket[${number}]`;

const [hour_micros, day_micros] = [3_600_000_000n, 86_400_000_000n];
const bucket_pattern = /^bucket\[(\d+)\]$/;

/** Returns the number of buckets of a transform; undefined for another one. */
export function bucketsOf(transform: string): number | undefined {
  const found = bucket_pattern.exec(transform);
  return found === null ? undefined : Number(found[1]);
}

/**
 * Returns the partition of a value: months, days or hours since 1970 of an instant in microseconds
 * (rounded down, also before 1970), the bucket of its hash, or the value itself. Null stays null.
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
