import { hash, randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const pool = Buffer.allocUnsafe(16 * 1024);
const uuid_bytes = 16;
let used = pool.length;

/**
 * A new version 7 UUID. Randomness is fetched for a thousand at once, because fetching it for each
 * sixteen took a tenth of the process's time under load.
 */
export function createUuid(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.subarray(used, used + uuid_bytes);
  used += uuid_bytes;
  return v7({ random });
}

/**
 * The version 5 UUID of a name: the same whenever and wherever it is asked. By Node's own hash in
 * one call, because the package's way was a tenth of what an event costs.
 */
export function nameUuid(name: string, namespace: Buffer): string {
  const hex = hash('sha1', Buffer.concat([namespace, Buffer.from(name)]), 'hex');
  // The variant takes the upper two bits of its digit.
  const variant = '89ab'[Number.parseInt(hex[16]!, 16) & 3]!;
  return (
    `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-` +
    `${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
  );
}

/** The bytes of a UUID, as names are put below it. */
export function namespaceOf(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}
