import sql from 'sql-template-tag';
import type { Engine } from '../engine.ts';
import { cleanUp } from '../delivery/clean_up.ts';
import type { ClaimedRun } from '../../model/run.ts';
import { heartbeat_age_seconds_max } from './heartbeat.ts';

/**
 * Removes leftovers from destinations of runs that were deleted with their project, one after
 * another; returns their number. Guarantees: a living worker keeps its own runs; others find the
 * leftovers of a killed one; several processes may do this. A destination that is unreachable for a
 * minute keeps its invisible leftovers, and the log of the process says so.
 */
export async function removeLeftovers(engine: Engine): Promise<number> {
  let removed = 0;
  while (await removeOne(engine)) removed += 1;
  return removed;
}

async function removeOne(engine: Engine): Promise<boolean> {
  return engine.db.transaction(async (tx) => {
    // SKIP LOCKED: the lock's holder is removing it. A process that dies meanwhile releases the
    // lock.
    const run = await tx.row<ClaimedRun>(sql`
      SELECT run_id AS id, batch_export_id, delivery_id, revision, attempt, 0 AS failures,
        0 AS break_offs, false AS is_small, data_interval_start, data_interval_end,
        selection, NULL AS records_total_count, NULL AS cancel_requested_at, NULL AS committing_at,
          NULL AS receipt, NULL AS backfill_id, team_id, model, custom_query,
        destination_type, destination_config, destination_secrets, revision AS export_revision,
        coalesce((SELECT timezone FROM batch_exports
          WHERE id = leftover.batch_export_id), 'UTC') AS timezone,
          write_rule, schema_number,
          schema_columns_at(team_id, model, schema_number) AS typed_columns,
          NULL::jsonb AS known_columns,
          true AS is_deleted, '[]'::jsonb AS steps, NULL AS replaces, NULL AS rejection
      FROM batch_export_leftovers leftover
      WHERE NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = leftover.worker_id
        AND heartbeat_at >= now() - make_interval(secs => ${heartbeat_age_seconds_max}))
      ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED`);
    if (run === undefined) return false;
    await cleanUp(engine, run);
    await tx.run(sql`DELETE FROM batch_export_leftovers WHERE run_id = ${run.id}`);
    return true;
  });
}
