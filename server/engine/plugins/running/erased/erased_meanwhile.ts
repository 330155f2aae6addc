import sql from 'sql-template-tag';
import type { Queryable } from '../../../../platform/postgres/database.ts';
import { isoInstant } from '../../../../platform/clock.ts';
import type { Running } from '../running.ts';

const look_ms = 250;
/** The clocks of processes may differ by some seconds. */
const clocks_ms = 10_000;
/** A read, a call, the webhook of its result, and some reserve. */
const in_hand_seconds_max = 50;

/**
 * Opened before a batch of events is read. The function returns true if events of the project were
 * erased since, as of a quarter of a second ago: the rest of the batch must then be read again.
 */
export function openErasedMeanwhile(
  { db, clock }: Pick<Running, 'db' | 'clock'>,
  team_id: number,
): () => Promise<boolean> {
  const read_at = isoInstant(clock.now() - clocks_ms);
  let looked_at = performance.now();
  let is_erased = false;
  return async () => {
    if (is_erased || performance.now() - looked_at < look_ms) return is_erased;
    looked_at = performance.now();
    const erasure = await db.row(sql`SELECT 1 FROM erasures
      WHERE team_id = ${team_id} AND removed_at > ${read_at}`);
    is_erased = erasure !== undefined;
    return is_erased;
  };
}

/**
 * Returns for how many seconds from `removed_at` on (ISO 8601) a plugin of the project may hold
 * earlier events; 0 if none is working.
 */
export async function secondsInHand(
  db: Queryable,
  team_id: number,
  removed_at: string,
  now_ms: number,
): Promise<number> {
  const seconds = (Date.parse(removed_at) - now_ms) / 1_000 + in_hand_seconds_max;
  if (seconds <= 0) return 0;
  const working = await db.row(sql`SELECT 1 FROM plugin_cursors k
    JOIN plugin_configs c ON c.id = k.plugin_config_id
    WHERE c.team_id = ${team_id} AND k.leased_until > now()`);
  return working === undefined ? 0 : Math.ceil(seconds);
}
