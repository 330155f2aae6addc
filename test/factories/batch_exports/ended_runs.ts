import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { claimRun } from '../../../server/engine/exports/workers/claims.ts';
import { endRun } from '../../../server/engine/exports/runs/end_runs.ts';
import type { RunEnd } from '../../../server/engine/model/run.ts';
import { insertRunRow } from './batch_exports.ts';
import type { RunWanted } from './batch_exports.ts';
import type { Harness } from '../../harness.ts';

/** The end of a run that failed finally. */
export const failed: RunEnd & { status: 'Failed' | 'FailedRetryable' } = {
  status: 'Failed',
  code: 'permission_denied',
  message: 'The bucket may not be written to.',
};
/** The end of a completed run. */
export const completed: RunEnd = { status: 'Completed' };

// Each scheduled run of an export has its own interval.
let hours = 10_000;

/**
 * Adds a run of the given hour, or of a free one, claims it like a worker and ends it through the
 * engine; returns its id. `rows`: the number of delivered rows, by default one if it completes.
 */
export async function endedRun(
  harness: Harness,
  exportId: string,
  end: RunEnd,
  wanted: Omit<RunWanted, 'status'> & { rows?: number; backfill_id?: string } = {},
) {
  const { rows = end.status === 'Completed' ? 1 : 0, backfill_id = null, ...row } = wanted;
  const id = await insertRunRow(harness, exportId, { hour: (hours += 1), ...row });
  await harness.deps.db.run(
    sql`UPDATE batch_export_runs SET backfill_id = ${backfill_id}, records_completed = ${rows},
      records_total_count = ${rows} WHERE id = ${id}`,
  );
  const run = await claimRun(harness.deps.db, id, randomUUID());
  assert.ok(run !== undefined);
  await endRun(harness.deps.engine, run, end);
  return id;
}

/** Returns an export's notices so far, oldest first: the event, and the one it recovers from. */
export async function toldOf(harness: Harness, exportId: string): Promise<string[]> {
  const rows = await harness.deps.db.rows<{ body: string }>(
    sql`SELECT body FROM notices WHERE batch_export_id = ${exportId} ORDER BY id`,
  );
  return rows.map(({ body }) => {
    const { type, data } = JSON.parse(body) as { type: string; data: { recovered_from?: string } };
    return [type.replace('batch_export.', ''), data.recovered_from]
      .filter((part) => part !== undefined)
      .join(' from ');
  });
}
