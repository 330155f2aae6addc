import sql from 'sql-template-tag';
import { until } from '../processes/server_process.ts';
import type { Operated } from './operations.ts';
import { comeDue, exportPath } from './operations.ts';

const quiet_ms_max = 300_000;
const rounds_max = 20;

/**
 * Brings everything to its end without further kills. It unpauses with make-up, waits until the
 * rows inserted so far are due and nothing is open, and retries incomplete runs until nothing is
 * missing. Rejects when something stays open, or fails again and again.
 */
export async function settle(deployment: Operated, exportIds: string[]): Promise<void> {
  await deployment.up();
  for (const id of exportIds)
    await mustSucceed(deployment, `${exportPath(id)}/unpause/`, { backfill: true });
  // Otherwise runs that are due already would end first.
  await whenQuiet(deployment);
  for (const id of exportIds) await comeDue(deployment, id);
  const refused = new Set<string>();
  for (let round = 0; round < rounds_max; round += 1) {
    await whenQuiet(deployment);
    if ((await retryAll(deployment, refused)) === 0) return;
  }
  throw new Error(`After ${rounds_max} rounds of retries some runs still do not complete.`);
}

/** Delivers the missing rows of a range of event time (milliseconds), and waits for it. */
export async function backfillMissing(
  deployment: Operated,
  exportIds: string[],
  from: number,
  to: number,
): Promise<void> {
  for (const id of exportIds) {
    const range = {
      start_at: new Date(from).toISOString(),
      end_at: new Date(to).toISOString(),
      mode: 'missing',
    };
    await mustSucceed(deployment, `${exportPath(id)}/backfill/`, range);
  }
  await settle(deployment, exportIds);
}

async function mustSucceed(deployment: Operated, path: string, body: unknown): Promise<void> {
  const answer = await deployment.call('POST', path, body);
  if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
}

/** Waits until no run is open and none is due. Runs between two attempts are made due at once. */
async function whenQuiet({ db }: Pick<Operated, 'db'>): Promise<void> {
  await until('all runs and backfills to end', quiet_ms_max, 300, async () => {
    await db.run(
      sql`UPDATE batch_export_runs SET due_at = now() WHERE status IN ('Starting', 'Running')
        AND worker_id IS NULL AND due_at > now()`,
    );
    const open = await db.row(sql`
      SELECT 1 FROM batch_export_runs WHERE status IN ('Starting', 'Running') UNION ALL SELECT 1
        FROM batch_export_backfills WHERE finished_at IS NULL
      UNION ALL SELECT 1 FROM batch_exports WHERE NOT paused AND next_run_at <= clock_timestamp()
        LIMIT 1`);
    return open === undefined ? true : undefined;
  });
}

/**
 * Retries runs that ended without delivering, and returns their number. `refused` collects the runs
 * that miss nothing.
 */
async function retryAll(deployment: Operated, refused: Set<string>): Promise<number> {
  const ended = await deployment.db.rows<{ id: string; batch_export_id: string }>(sql`
    SELECT id, batch_export_id FROM batch_export_runs run
      WHERE status IN ('Failed', 'FailedRetryable', 'Cancelled') AND NOT EXISTS (
      SELECT 1 FROM batch_export_runs other WHERE other.batch_export_id = run.batch_export_id
        AND other.delivery_id = run.delivery_id AND other.status = 'Completed')
    ORDER BY created_at`);
  let retried = 0;
  for (const { id, batch_export_id } of ended) {
    if (refused.has(id)) continue;
    const { status, body } = await deployment.call(
      'POST',
      `${exportPath(batch_export_id)}/runs/${id}/retry/`,
      {},
    );
    if (status === 200) retried += 1;
    else if (status === 409) refused.add(id);
    else throw new Error(JSON.stringify(body));
  }
  return retried;
}
