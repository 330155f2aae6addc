import { hash, randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const pool = Buffer.allocUnsafe(16 * 1024);
const uuid_bytes = 16;
let used = pool.length;

/**
 * Returns a new version 7 UUID. Fetches random bytes for a thousand at once: one call per sixteen
 * bytes took a tenth of the process's time under load.
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
 * Returns the version 5 UUID of a name, which is always the same. Uses Node's own hash in one call,
 * because the package's way was a tenth of an event's cost.
 */
export function nameUuid(name: string, namespace: Buffer): string {
  const hex = hash('sha1', Buffer.concat([namespace, Buffer.from(name)]), 'hex');
  // The variant occupies the upper two bits of its digit.
  const variant = '89ab'[Number.parseInt(hex[16]!, 16) & 3]!;
  return (
    `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-` +
    `${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
  );
}

/** Returns the bytes of a UUID, which serve as namespace of names. */
export function namespaceOf(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}
