import sql from 'sql-template-tag';
import type { Deps } from '../../../server/deps.ts';
import { first_credit_ms } from '../../../server/engine/exports/verification/budget.ts';
import { planLooks } from '../../../server/engine/exports/verification/watches.ts';
import { workVerifications } from '../../../server/engine/exports/verification/work.ts';

const never = new AbortController().signal;

/**
 * Looks at all deliveries of an export as the schedule does, but without its pauses. The budget is
 * in milliseconds; null: the export's own one, and without one it does nothing. With `is_forced`
 * false, only a look that is due starts.
 */
export async function lookAt(
  { db, engine }: Pick<Deps, 'db' | 'engine'>,
  id: string,
  {
    balance_ms = 60_000,
    is_worked = true,
    is_forced = true,
  }: { balance_ms?: number | null; is_worked?: boolean; is_forced?: boolean } = {},
): Promise<void> {
  await db.run(sql`
    INSERT INTO batch_export_watches (batch_export_id, revision, balance_ms)
    SELECT id, revision, ${first_credit_ms} FROM batch_exports WHERE id = ${id}
    ON CONFLICT DO NOTHING`);
  await db.run(sql`UPDATE batch_export_watches SET due_at = 'infinity'
    WHERE batch_export_id <> ${id}`);
  await db.run(sql`
    UPDATE batch_export_watches SET due_at = '2026-01-01',
      cycle_ended_at = CASE WHEN NOT ${is_forced} THEN cycle_ended_at END,
      cycle_looked_at = CASE WHEN NOT ${is_forced} THEN cycle_looked_at END,
      counted_at = CASE WHEN ${balance_ms}::float8 IS NULL THEN counted_at ELSE now() END,
      balance_ms = coalesce(${balance_ms}::float8, balance_ms) WHERE batch_export_id = ${id}`);
  await planLooks(engine);
  const left = () =>
    db.run(sql`UPDATE batch_export_verifications SET due_at = '2026-01-01'
      WHERE batch_export_id = ${id} AND is_scheduled AND finished_at IS NULL`);
  while (is_worked && (await left()) > 0)
    await workVerifications(engine, never, { is_scheduled: true });
}

/** Time between two turns of `playHours`, unless the schedule pauses for longer. */
const turn_seconds = 900;

/**
 * Plays hours of an export's schedule by moving what it remembers into the past, and returns the
 * number of looks that began.
 */
export async function playHours(
  { db, engine }: Pick<Deps, 'db' | 'engine'>,
  id: string,
  hours: number,
): Promise<number> {
  let seconds_left = hours * 3_600;
  let looks = 0;
  await db.run(sql`UPDATE batch_export_watches SET due_at = 'infinity'
    WHERE batch_export_id <> ${id}`);
  while (seconds_left > 0) {
    const { seconds } = (await db.row<{ seconds: number }>(sql`
      SELECT greatest(${turn_seconds}, extract(epoch FROM due_at - now()))::float8 AS seconds
      FROM batch_export_watches WHERE batch_export_id = ${id}`))!;
    seconds_left -= seconds;
    const passed = sql`make_interval(secs => ${seconds})`;
    await db.run(sql`UPDATE batch_export_watches SET due_at = now(),
      verified_at = verified_at - ${passed}, cycle_started_at = cycle_started_at - ${passed},
      cycle_looked_at = cycle_looked_at - ${passed}, cycle_ended_at = cycle_ended_at - ${passed}
      WHERE batch_export_id = ${id}`);
    await db.run(sql`UPDATE batch_export_runs SET created_at = created_at - ${passed},
      finished_at = finished_at - ${passed} WHERE batch_export_id = ${id}`);
    looks += await planLooks(engine);
    await workVerifications(engine, never, { is_scheduled: true });
  }
  return looks;
}
