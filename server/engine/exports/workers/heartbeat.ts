import sql from 'sql-template-tag';
import type { Database } from '../../../platform/postgres/database.ts';
import { break_off_pauses_seconds } from '../runs/worker_crashes.ts';

/**
 * A worker without a heartbeat for this long counts as dead, and others claim its runs. It sends
 * one about every second.
 */
export const heartbeat_age_seconds_max = 8;

/**
 * A run that waits again because its worker is gone. `is_counted`: this counts as a crash.
 * `break_offs`: number of workers that crashed with it since its last progress.
 */
export type ReleasedRun = {
  id: string;
  batch_export_id: string;
  is_counted: boolean;
  break_offs: number;
  pause_seconds: number;
};

/**
 * The position of the control store at a heartbeat: its timeline, and the end of its log (null: not
 * reported). The answer to the heartbeat confirms everything up to there.
 */
export type Beat = { epoch: number; position: string | null };

/** Sends the worker's heartbeat; it also revives one that counted as dead. */
export async function beat(db: Database, workerId: string): Promise<Beat> {
  const row = await db.row<Beat>(
    sql`INSERT INTO workers (id) VALUES (${workerId}) ON CONFLICT (id) DO UPDATE
      SET heartbeat_at = now()
      RETURNING control_epoch() AS epoch, control_position() AS position`,
  );
  return row!;
}

/**
 * Takes back the worker's crash marks on its runs: it is alive and was only slow or disconnected.
 */
export async function stillLives(db: Database, workerId: string): Promise<void> {
  // SKIP LOCKED: locked rows are checked again a second later. The index
  // batch_export_runs_broken_off has the few rows.
  await db.run(sql`
    UPDATE batch_export_runs SET silent_workers = array_remove(silent_workers, ${workerId}::uuid)
      WHERE id IN (
      SELECT id FROM batch_export_runs WHERE status IN ('Starting', 'Running') AND break_offs > 0
        AND ${workerId}::uuid = ANY (silent_workers) FOR UPDATE SKIP LOCKED)`);
}

/**
 * Records that the worker was told to stop, so that its unfinished runs do not count as crashed.
 */
export async function beginStop(db: Database, workerId: string): Promise<void> {
  await db.run(sql`UPDATE workers SET is_stopping = true WHERE id = ${workerId}`);
}

/** Marks a worker crash in a run: the worker's id, and a pause after several crashes. */
const broken_off = sql`silent_workers = array_append(run.silent_workers, run.worker_id),
  due_at = greatest(run.due_at, now() + make_interval(secs =>
    coalesce((${[...break_off_pauses_seconds]}::int[])[run.break_offs + 1], 0)))`;
const released = sql`run.id, run.batch_export_id, run.break_offs, ceil(greatest(0, extract(epoch
  FROM run.due_at - now())))::int AS pause_seconds`;

/**
 * Releases the runs of dead workers, and returns them. Each counts as a crash, unless the worker
 * had been told to stop. Harmless if a worker is still alive: the next claim of the run fences it
 * off, and it removes its mark.
 */
export async function releaseDead(db: Database): Promise<ReleasedRun[]> {
  return db.transaction(async (tx) => {
    // SKIP LOCKED: other workers check at the same time, and locked rows are checked again a second
    // later. The index batch_export_runs_held has the few rows.
    const held = sql`
      FROM batch_export_runs run LEFT JOIN workers worker ON worker.id = run.worker_id
      WHERE run.status IN ('Starting', 'Running') AND run.worker_id IS NOT NULL
        AND (worker.id IS NULL OR worker.heartbeat_at < now() - make_interval(secs =>
        ${heartbeat_age_seconds_max}))`;
    const blameless = await tx.rows<ReleasedRun>(sql`
      UPDATE batch_export_runs run SET worker_id = NULL WHERE run.id IN (SELECT run.id ${held}
        AND coalesce(worker.is_stopping, true) FOR UPDATE OF run SKIP LOCKED)
      RETURNING ${released}, false AS is_counted`);
    const blamed = await tx.rows<ReleasedRun>(sql`
      UPDATE batch_export_runs run SET worker_id = NULL, ${broken_off}
        WHERE run.id IN (SELECT run.id ${held} AND NOT worker.is_stopping
        FOR UPDATE OF run SKIP LOCKED)
      RETURNING ${released}, true AS is_counted`);
    // Deletes a worker after its runs were released: its row shows the others how it ended.
    await tx.run(sql`
      DELETE FROM workers
      WHERE heartbeat_at < now() - make_interval(secs => ${heartbeat_age_seconds_max})
        AND NOT EXISTS (SELECT 1 FROM batch_export_runs run
          WHERE run.status IN ('Starting', 'Running') AND run.worker_id = workers.id)`);
    return [...blameless, ...blamed];
  });
}

/**
 * Releases all claims of the worker at once, and deletes the worker. With `is_fault`, its process
 * ends because of an unhandled fault, and each of the runs counts as crashed.
 */
export async function leave(
  db: Database,
  workerId: string,
  end: { is_fault: boolean },
): Promise<void> {
  await db.transaction(async (tx) => {
    const count = end.is_fault ? sql`, ${broken_off}` : sql``;
    await tx.run(
      sql`UPDATE batch_export_runs run SET worker_id = NULL${count} WHERE worker_id = ${workerId}
        AND status IN ('Starting', 'Running')`,
    );
    await tx.run(sql`DELETE FROM workers WHERE id = ${workerId}`);
  });
}

/** A cancelled run skips the pause before its next attempt. */
export async function hurryCancelled(db: Database): Promise<void> {
  // SKIP LOCKED as above. The index batch_export_runs_cancelling has the few rows.
  await db.run(sql`
    UPDATE batch_export_runs SET due_at = now() WHERE id IN (
      SELECT id FROM batch_export_runs WHERE status IN ('Starting', 'Running')
        AND cancel_requested_at IS NOT NULL AND worker_id IS NULL AND due_at > now()
        FOR UPDATE SKIP LOCKED)`);
}
