import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Engine } from '../../exports/engine.ts';
import { secondsInHand } from '../../plugins/running/erased/erased_meanwhile.ts';
import type { Erasure, StepEnd } from './erasure.ts';
import { judgeCopies } from './judge_copies.ts';
import { counted } from '../../../platform/counted.ts';

/**
 * Handles the runs that were in progress while the rows were removed. Their counts are outdated, so
 * runs that show nothing yet restart. Runs that may be committing are awaited, and their deliveries
 * become copies like any other. Waits for plugins too, before it searches their memory and logs.
 * May be repeated.
 */
export async function settleRuns(
  engine: Engine,
  erasure: Erasure,
  signal: AbortSignal,
  memory_seconds: number,
): Promise<StepEnd> {
  const { clock, db } = engine;
  const remembered_ms = Date.parse(erasure.removed_at!) + memory_seconds * 1_000 - clock.now();
  if (remembered_ms > 0)
    return {
      step: 'settle',
      detail: 'Waiting for cached copies to expire.',
      wait_seconds: Math.ceil(remembered_ms / 1_000),
    };
  const in_hand = await secondsInHand(db, erasure.team_id, erasure.removed_at!, clock.now());
  if (in_hand > 0)
    return {
      step: 'settle',
      detail: 'Waiting for plugins that still hold these rows.',
      wait_seconds: Math.min(in_hand, 10),
    };
  await beginAnew(engine, erasure, memory_seconds);
  const showing = await db.row<{ count: number }>(sql`
    SELECT count(*) AS count FROM batch_export_runs WHERE team_id = ${erasure.team_id}
      AND status IN ('Starting', 'Running') AND committing_at IS NOT NULL
      AND ${notOfOthers(erasure)}
      AND committing_at < ${erasure.removed_at}::timestamptz
        + make_interval(secs => ${memory_seconds})`);
  if (showing!.count > 0)
    return {
      step: 'settle',
      detail: `Waits for the outcome of ${counted(showing!.count, 'run')}.`,
      wait_seconds: 2,
    };
  await judgeCopies(engine, erasure, signal, 'after');
  return { step: 'rewrite', detail: null };
}

/**
 * Restarts runs that already have slices. A new attempt number fences off the current worker, like
 * one that was believed dead.
 */
async function beginAnew({ db }: Engine, erasure: Erasure, memory_seconds: number): Promise<void> {
  const { team_id, removed_at } = erasure;
  await db.transaction(async (tx) => {
    const reset = await tx.rows<{ id: string }>(sql`
      UPDATE batch_export_runs SET attempt = attempt + 1, worker_id = NULL, due_at = now(),
        records_total_count = NULL, records_completed = NULL, records_rejected = 0,
        bytes_completed = 0, "cursor" = NULL,
        receipt = NULL, slices_safe_max = 0, last_updated_at = now()
      WHERE id IN (SELECT id FROM batch_export_runs WHERE team_id = ${team_id}
        AND status = 'Running' AND committing_at IS NULL AND records_total_count IS NOT NULL
        AND ${notOfOthers(erasure)}
        AND started_at < ${removed_at}::timestamptz + make_interval(secs => ${memory_seconds})
        ORDER BY id FOR NO KEY UPDATE)
      RETURNING id`);
    await tx.run(sql`DELETE FROM batch_export_slices
      WHERE run_id = ANY (${reset.map(({ id }) => id)}::uuid[])`);
  });
}

/**
 * A delivery that another erasure has rewritten contains none of these rows: `noteRows` waited for
 * the rest.
 */
function notOfOthers({ id }: Erasure): Sql {
  return sql`delivery_id NOT IN (SELECT delivery_id FROM erasure_copies
    WHERE state IN ('waiting', 'rewriting') AND erasure_id <> ${id})`;
}
