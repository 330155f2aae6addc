import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { batchCalls } from '../../pacing/batched_calls.ts';
import type { Queryable } from '../../postgres/database.ts';

/**
 * Lets inserts pass one after the other, so many a second at most of all processes on this control
 * store together and none in advance: what waits meanwhile goes together. `onWait` is told how many
 * seconds one waits. Rejects when the control store cannot be asked.
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

/** Gives in how many milliseconds it is somebody's turn; who comes together asks together. */
const takeTurn = batchCalls<Queryable, number, number>({
  together: async (db, [step_ms = 0, ...others]) => {
    const first = await reserve(db, 1 + others.length, step_ms);
    return [step_ms, ...others].map((step, index) => Math.max(0, first + index * step));
  },
  alone: (db, step_ms) => reserve(db, 1, step_ms),
});

// The table is not logged: nobody waits for a standby, and where a crash or a failover empties it
// the next insert begins anew. Its row is locked for this statement alone.
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
