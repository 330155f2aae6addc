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
