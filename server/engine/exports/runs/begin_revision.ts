import sql from 'sql-template-tag';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { beginLacking } from '../health/lacking.ts';
import type { Rhythm } from '../planning/interval.ts';
import { rewound } from '../planning/plan.ts';
import type { Schedule } from '../planning/plan.ts';

/**
 * Ends a revision of an export, whose deliveries no longer count, and returns the schedule of the
 * next one. It begins with the earliest scheduled run that this takes back, so that no row is
 * missed. The caller stores both and holds the lock on the export.
 */
export async function beginRevision(
  tx: Transaction,
  { id, revision }: { id: string; revision: number },
  schedule: Schedule,
  rhythm: Rhythm & { end_at: number | null },
): Promise<{ revision: number; schedule: Schedule }> {
  await beginLacking(tx, id, revision);
  // They are about deliveries that no longer count.
  await tx.run(sql`UPDATE batch_export_deviations SET resolved_at = now()
    WHERE batch_export_id = ${id} AND resolved_at IS NULL`);
  const cancelled = await requestCancels(tx, id);
  const starts = cancelled
    .filter((run) => run.is_scheduled)
    .map((run) => Date.parse(run.data_interval_start));
  return { revision: revision + 1, schedule: rewound(schedule, rhythm, starts) };
}

/**
 * Asks the workers to abort every open run of the export that has not begun to commit, and returns
 * the starts of these runs. The caller holds the lock on the export.
 */
export async function requestCancels(
  tx: Transaction,
  exportId: string,
): Promise<{ data_interval_start: string; is_scheduled: boolean }[]> {
  return tx.rows(sql`
    UPDATE batch_export_runs SET cancel_requested_at = coalesce(cancel_requested_at, now()),
      last_updated_at = now()
    WHERE batch_export_id = ${exportId} AND status IN ('Starting', 'Running')
      AND committing_at IS NULL
    RETURNING data_interval_start, backfill_id IS NULL AND id = delivery_id AS is_scheduled`);
}
