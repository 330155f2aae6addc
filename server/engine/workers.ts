import sql from 'sql-template-tag';
import type { Database } from '../platform/postgres/database.ts';

/** A worker that was not heard of for so long is dead, and others take its runs over. It says that it lives about once a second. */
export const silence_seconds_max = 8;

/** Says that the worker lives; also brings one back that was believed dead. */
export async function beat(db: Database, workerId: string): Promise<void> {
  await db.run(sql`INSERT INTO workers (id) VALUES (${workerId}) ON CONFLICT (id) DO UPDATE SET heartbeat_at = now()`);
}

/** Lets the runs of dead workers wait for others again, and gives their ids. Harmless when one of them lives after all: the next claim of the run fences it off. */
export async function releaseDead(db: Database): Promise<string[]> {
  await db.run(sql`DELETE FROM workers WHERE heartbeat_at < now() - make_interval(secs => ${silence_seconds_max})`);
  // SKIP LOCKED: other workers look at the same time, and what is being changed is looked at again a second later. The index batch_export_runs_held has the few rows.
  const released = await db.rows<{ id: string }>(sql`
    UPDATE batch_export_runs SET worker_id = NULL WHERE id IN (
      SELECT run.id FROM batch_export_runs run
      WHERE run.status IN ('Starting', 'Running') AND run.worker_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = run.worker_id)
      FOR UPDATE SKIP LOCKED)
    RETURNING id`);
  return released.map(({ id }) => id);
}

/** Lets everything that the worker holds wait for others, at once, and forgets the worker. */
export async function leave(db: Database, workerId: string): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.run(sql`UPDATE batch_export_runs SET worker_id = NULL WHERE worker_id = ${workerId} AND status IN ('Starting', 'Running')`);
    await tx.run(sql`DELETE FROM workers WHERE id = ${workerId}`);
  });
}

/** A run that is to be taken back does not sit out the pause before its next attempt. */
export async function hurryCancelled(db: Database): Promise<void> {
  // SKIP LOCKED as above. The index batch_export_runs_cancelling has the few rows.
  await db.run(sql`
    UPDATE batch_export_runs SET due_at = now() WHERE id IN (
      SELECT id FROM batch_export_runs WHERE status IN ('Starting', 'Running') AND cancel_requested_at IS NOT NULL AND worker_id IS NULL AND due_at > now() FOR UPDATE SKIP LOCKED)`);
}
