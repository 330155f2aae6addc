import type { Deps } from '../../deps.ts';
import { batchCalls } from '../../platform/pacing/batched_calls.ts';
import { unknownKey } from './keys.ts';
import { findWriteAccess, touchWriteKey } from '../write_keys/store.ts';
import type { WriteAccess } from '../write_keys/store.ts';

const touch_interval_ms = 60_000;
// Collects requests for this time, because at thousands of requests a second each would need a
// statement of its own.
const rest_ms = 5;
const keys_max = 1_000;

/** Returns the project of a write key; throws 401 if there is none. */
export type WriteAccessFinder = (key: string) => Promise<WriteAccess>;

/**
 * Opens the look-up of write keys. Requests that arrive during a statement share the next one.
 * Nothing is cached, so a revoked key fails at the next request. Updates `last_used_at`.
 */
export function openWriteAccess({ db, clock, log }: Deps): WriteAccessFinder {
  type Result = { access: WriteAccess | undefined };
  const find = batchCalls<typeof db, string, Result>({
    together: async (_db, keys) => {
      const found = await findWriteAccess(db, [...new Set(keys)], clock.now());
      return keys.map((key) => ({ access: found.get(key) }));
    },
    alone: async (_db, key) => ({
      access: (await findWriteAccess(db, [key], clock.now())).get(key),
    }),
    items_max: keys_max,
    rest_ms,
  });
  return async (key) => {
    const { access } = await find(db, key);
    if (access === undefined) throw unknownKey();
    const { id, last_used_at } = access;
    const now = clock.now();
    const before = now - touch_interval_ms;
    if (id !== null && (last_used_at === null || Date.parse(last_used_at) <= before))
      touchWriteKey(db, id, now, before).catch((error: unknown) =>
        log.warn({ err: error }, 'last_used_at of a write key could not be updated'),
      );
    return access;
  };
}
