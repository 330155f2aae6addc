import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { deliveredOf } from '../../model/ledger/ledger.ts';
import { fromStored, subtract, unionOf } from '../../model/ledger/rectangles.ts';
import type { StoredRectangle } from '../../model/ledger/rectangles.ts';

/** Most failed runs of an export that are checked, the newest first. */
const looked_max = 200;

/**
 * Finds the exports with a finally failed backfill run in the current revision whose rows nothing
 * has delivered since. Uses batch_export_runs_not_well.
 */
export async function findFailedBackfills(
  db: Queryable,
  exports: { id: string; revision: number }[],
): Promise<Set<string>> {
  if (exports.length === 0) return new Set();
  const failed = await db.rows<{ id: string; revision: number; selection: StoredRectangle[] }>(sql`
    SELECT wanted.id, wanted.revision, run.selection
    FROM unnest(${exports.map(({ id }) => id)}::uuid[],
      ${exports.map(({ revision }) => revision)}::int[]) AS wanted (id, revision)
    CROSS JOIN LATERAL (
      SELECT r.selection FROM batch_export_runs r
      WHERE r.batch_export_id = wanted.id AND r.revision = wanted.revision
        AND r.status IN ('Failed', 'FailedRetryable') AND r.backfill_id IS NOT NULL
      ORDER BY r.created_at DESC LIMIT ${looked_max}) run`);
  const areas = Map.groupBy(failed, ({ id }) => id);
  const wanted = [...areas].map(([id, runs]) => ({
    id,
    revision: runs[0]!.revision,
    within: unionOf(runs.flatMap(({ selection }) => fromStored(selection))),
  }));
  const delivered = await deliveredOf(db, wanted);
  return new Set(
    wanted
      .filter(({ id, within }) => subtract(within, delivered.get(id) ?? []).length > 0)
      .map(({ id }) => id),
  );
}
