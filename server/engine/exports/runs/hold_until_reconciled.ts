import sql from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import { commandLine } from '../../../platform/command_line.ts';
import type { Database, Queryable } from '../../../platform/postgres/database.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';
import type { PauseReason } from '../health/pause_automatically.ts';

/** The instant until which the runs of an unreconciled export wait. */
export const held_until = '2999-01-01T00:00:00Z';

/**
 * Returns why an export that was set aside delivers nothing, and the action; `detail` is its
 * destination's answer, null until somebody asked it.
 */
export function waitingSentence(taken_at: string, detail: string | null): string {
  return (
    `This export was restored from a backup of ${taken_at} and is not reconciled with its ` +
    `destination: ${detail ?? 'nobody has started that yet.'} Its runs wait until ` +
    `\`${commandLine('reconcile')}\` knows the later deliveries.`
  );
}

/** Returns the same for a stored export; undefined if it does not wait. */
export async function findWaitingSentence(
  db: Queryable,
  exportId: string,
): Promise<string | undefined> {
  const waiting = await db.row<{ taken_at: string; detail: string | null }>(sql`
    SELECT taken_at, detail FROM reconciliations WHERE batch_export_id = ${exportId}`);
  return waiting && waitingSentence(waiting.taken_at, waiting.detail);
}

/**
 * Stops all exports of a server that was restored, or has lost commits, until each is reconciled:
 * plans no runs for them, and defers their open runs. Erasures in progress restart. No batch gets
 * an insertion time before the end of the backup, whatever the clock of the new machine says. An
 * export that was active shows why it is paused. Harmless when repeated.
 */
export async function setAside(
  db: Database,
  { taken_at, control_taken_at }: { taken_at: string; control_taken_at: string },
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.run(sql`
      INSERT INTO reconciliations (batch_export_id, taken_at, goes_on)
      SELECT id, ${taken_at}::timestamptz, NOT paused FROM batch_exports WHERE deleted_at IS NULL
      ON CONFLICT DO NOTHING`);
    const pause_reason: PauseReason = {
      code: 'not_reconciled',
      detail: waitingSentence(taken_at, null),
      at: isoInstant(await databaseInstant(tx)),
    };
    await tx.run(sql`
      UPDATE batch_exports SET paused = true, pause_reason = CASE WHEN paused THEN pause_reason
        ELSE ${JSON.stringify(pause_reason)}::jsonb END
      WHERE id IN (SELECT batch_export_id FROM reconciliations)`);
    // Their workers ended with the old server, which is no run's fault. `needs_worker` hides them
    // from the search for empty runs.
    await tx.run(sql`
      UPDATE batch_export_runs SET worker_id = NULL, silent_workers = '{}', needs_worker = true,
        due_at = ${held_until}
      WHERE status IN ('Starting', 'Running')
        AND batch_export_id IN (SELECT batch_export_id FROM reconciliations)`);
    await tx.run(sql`
      UPDATE batch_export_runs SET worker_id = NULL, silent_workers = '{}'
      WHERE status IN ('Starting', 'Running') AND worker_id IS NOT NULL`);
    // No backup contains an erasure's notes in the analytics store, so it searches again.
    await tx.run(sql`
      UPDATE erasures SET step = 'resolve', claim_id = NULL, claimed_at = NULL, due_at = now(),
        detail = 'It began anew: a backup was restored, or a failover lost commits.'
      WHERE finished_at IS NULL`);
    await tx.run(sql`
      INSERT INTO ingestion_states AS s (team_id, settled_until)
      SELECT id, date_trunc('milliseconds', ${control_taken_at}::timestamptz) FROM projects
      ON CONFLICT (team_id) DO UPDATE SET
        settled_until = greatest(s.settled_until, excluded.settled_until)`);
  });
}
