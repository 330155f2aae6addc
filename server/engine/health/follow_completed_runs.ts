import type { Transaction } from '../../platform/postgres/database.ts';
import type { ClaimedRun } from '../run.ts';
import { healthAfterRun } from './health.ts';
import type { Health } from './health.ts';
import { hasVolume } from './has_volume.ts';
import { listComparableRows, listHealth, putHealths } from './store.ts';
import type { ComparedRun } from './store.ts';
import { judgeVolume } from './volume.ts';

type CompletedRun = ClaimedRun & ComparedRun & { is_make_up: boolean; records_completed: number };

/**
 * Follows runs of the present revisions of different exports, which are about to complete, into the
 * health of these exports. `to_be_told` are those by which a condition of the export would begin or
 * end: of them nothing is stored. The caller holds the locks on the exports' rows.
 */
export async function followCompletedRuns<Run extends CompletedRun>(
  tx: Transaction,
  runs: Run[],
): Promise<{ followed: Run[]; to_be_told: Run[] }> {
  const followed: Run[] = [];
  const to_be_told: Run[] = [];
  if (runs.length === 0) return { followed, to_be_told };
  const volumes = await listVolumes(tx, runs);
  const stored: (Health & { batch_export_id: string })[] = [];
  for (const [index, before] of (await listHealth(tx, runs)).entries()) {
    const run = runs[index]!;
    const { health, changes } = healthAfterRun(before, {
      status: 'Completed',
      revision: run.revision,
      delivered_until: run.is_make_up ? null : run.data_interval_end,
      is_volume_unusual: volumes.get(run)?.is_unusual,
      has_rows: run.records_completed > 0,
    });
    if (changes.length > 0) to_be_told.push(run);
    else {
      followed.push(run);
      stored.push({ ...health, batch_export_id: run.batch_export_id });
    }
  }
  if (stored.length > 0) await putHealths(tx, stored);
  return { followed, to_be_told };
}

async function listVolumes<Run extends CompletedRun>(
  tx: Transaction,
  runs: Run[],
): Promise<Map<Run, ReturnType<typeof judgeVolume>>> {
  const judged = runs.filter(hasVolume);
  const comparable = await listComparableRows(tx, judged);
  return new Map(
    judged.map((run, index) => [run, judgeVolume(run.records_completed, comparable[index]!)]),
  );
}
