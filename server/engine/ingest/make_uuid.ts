import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const pool = Buffer.allocUnsafe(16 * 1024);
const uuid_bytes = 16;
let used = pool.length;

/**
 * A new version 7 UUID. Randomness is fetched for a thousand at once, because fetching it for each
 * sixteen took a tenth of the process's time under load.
 */
export function makeUuid(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.subarray(used, used + uuid_bytes);
  used += uuid_bytes;
  return v7({ random });
}
