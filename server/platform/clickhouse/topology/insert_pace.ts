import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { batchCalls } from '../../pacing/batched_calls.ts';
import type { Queryable } from '../../postgres/database.ts';

/**
 * Lets inserts pass one after the other, at a bounded rate over all processes on this control
 * store, and none in advance; waiting inserts go together. Calls `onWait` with the seconds to wait.
 * Rejects if the control store is unreachable.
 */
export function openInsertPace(
  db: Queryable,
  per_second: number,
  onWait: (seconds: number) => void = () => undefined,
): () => Promise<void> {
  const step_ms = 1_000 / per_second;
  return async () => {
    const wait_ms = await takeTurn(db, step_ms);
    if (wait_ms <= 0) return;
    onWait(wait_ms / 1_000);
    await pause(wait_ms);
  };
}

/** Returns the milliseconds until a turn; concurrent callers share a query. */
const takeTurn = batchCalls<Queryable, number, number>({
  together: async (db, [step_ms = 0, ...others]) => {
    const first = await reserve(db, 1 + others.length, step_ms);
    return [step_ms, ...others].map((step, index) => Math.max(0, first + index * step));
  },
  alone: (db, step_ms) => reserve(db, 1, step_ms),
});

// The table is unlogged: nobody waits for a standby, and if a crash or a failover empties it, the
// next insert restarts the count. Its row is only locked for this statement.
async function reserve(db: Queryable, turns: number, step_ms: number): Promise<number> {
  const all_ms = turns * step_ms;
  const row = await db.row<{ end_ms: number }>(sql`
    INSERT INTO insert_pace AS pace (id, free_at)
    VALUES (1, clock_timestamp() + ${all_ms}::float8 * interval '1 millisecond')
    ON CONFLICT (id) DO UPDATE SET free_at = greatest(pace.free_at, clock_timestamp())
      + ${all_ms}::float8 * interval '1 millisecond'
    RETURNING (extract(epoch FROM free_at - clock_timestamp()) * 1000)::float8 AS end_ms`);
  return row!.end_ms - all_ms;
}
