import sql from 'sql-template-tag';
import type { Database } from '../../platform/postgres/database.ts';

/**
 * Keeps all exports of a server that was restored, or has lost commits, from delivering anything
 * until each is reconciled: nothing is planned for them, and their open runs are not due; erasures
 * that are under way begin anew. No batch gets an insertion time of before the backup was over,
 * whatever the clock of the new machine says. Harmless when repeated.
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
    await tx.run(sql`
      UPDATE batch_exports SET paused = true WHERE id IN (
        SELECT batch_export_id FROM reconciliations)`);
    // Their workers are gone with the old server, and nobody's fault. `needs_worker` keeps those
    // away who look for empty runs.
    await tx.run(sql`
      UPDATE batch_export_runs SET worker_id = NULL, silent_workers = '{}', needs_worker = true,
        due_at = '2999-01-01T00:00:00Z'
      WHERE status IN ('Starting', 'Running')
        AND batch_export_id IN (SELECT batch_export_id FROM reconciliations)`);
    await tx.run(sql`
      UPDATE batch_export_runs SET worker_id = NULL, silent_workers = '{}'
      WHERE status IN ('Starting', 'Running') AND worker_id IS NOT NULL`);
    // What an erasure has noted in the analytics store is in no backup: it is found once more.
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
