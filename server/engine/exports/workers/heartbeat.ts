import sql from 'sql-template-tag';
import type { Database } from '../../../platform/postgres/database.ts';
import { break_off_pauses_seconds } from '../runs/worker_crashes.ts';

/**
 * A worker that was not heard of for so long is dead, and others take its runs over. It says that
 * it lives about once a second.
 */
export const heartbeat_age_seconds_max = 8;

/**
 * A run that waits again because its worker is gone. `is_counted`: it broke off with it;
 * `break_offs`: how many workers ended so while they had it, since it last got further.
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
 * reported). Once the heartbeat is answered, everything up to there is confirmed.
 */
export type Beat = { epoch: number; position: string | null };

/** Says that the worker lives; also brings one back that was believed dead. */
export async function beat(db: Database, workerId: string): Promise<Beat> {
  const row = await db.row<Beat>(
    sql`INSERT INTO workers (id) VALUES (${workerId}) ON CONFLICT (id) DO UPDATE
      SET heartbeat_at = now()
      RETURNING control_epoch() AS epoch, control_position() AS position`,
  );
  return row!;
}

/**
 * Takes the worker off the runs that seemed to have broken off with it: it lives, so it was only
 * slow or cut off.
 */
export async function stillLives(db: Database, workerId: string): Promise<void> {
  // SKIP LOCKED: what is being changed is looked at again a second later. The index
  // batch_export_runs_broken_off has the few rows.
  await db.run(sql`
    UPDATE batch_export_runs SET silent_workers = array_remove(silent_workers, ${workerId}::uuid)
      WHERE id IN (
      SELECT id FROM batch_export_runs WHERE status IN ('Starting', 'Running') AND break_offs > 0
        AND ${workerId}::uuid = ANY (silent_workers) FOR UPDATE SKIP LOCKED)`);
}

/**
 * Says that the worker was told to stop, so that no run is blamed for what it does not finish in
 * time.
 */
export async function beginStop(db: Database, workerId: string): Promise<void> {
  await db.run(sql`UPDATE workers SET is_stopping = true WHERE id = ${workerId}`);
}

/** Marks of a worker crash in a run: the worker's id, and a pause after several. */
const broken_off = sql`silent_workers = array_append(run.silent_workers, run.worker_id),
  due_at = greatest(run.due_at, now() + make_interval(secs =>
    coalesce((${[...break_off_pauses_seconds]}::int[])[run.break_offs + 1], 0)))`;
const released = sql`run.id, run.batch_export_id, run.break_offs, ceil(greatest(0, extract(epoch
  FROM run.due_at - now())))::int AS pause_seconds`;

/**
 * Lets the runs of dead workers wait for others again, and gives them. Each counts as broken off,
 * unless the worker had been told to stop. Harmless when a worker lives after all: the next claim
 * of the run fences it off, and it takes itself off the run.
 */
export async function releaseDead(db: Database): Promise<ReleasedRun[]> {
  return db.transaction(async (tx) => {
    // SKIP LOCKED: other workers look at the same time, and what is being changed is looked at
    // again a second later. The index batch_export_runs_held has the few rows.
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
    // A worker is forgotten after its runs: by what it left, others know how it ended.
    await tx.run(sql`
      DELETE FROM workers
      WHERE heartbeat_at < now() - make_interval(secs => ${heartbeat_age_seconds_max})
        AND NOT EXISTS (SELECT 1 FROM batch_export_runs run
          WHERE run.status IN ('Starting', 'Running') AND run.worker_id = workers.id)`);
    return [...blameless, ...blamed];
  });
}

/**
 * Lets everything that the worker holds wait for others, at once, and forgets the worker. With
 * `is_fault` its process ends because of a fault that nobody handled, and each of the runs counts
 * as broken off.
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

/** A run that is to be taken back does not sit out the pause before its next attempt. */
export async function hurryCancelled(db: Database): Promise<void> {
  // SKIP LOCKED as above. The index batch_export_runs_cancelling has the few rows.
  await db.run(sql`
    UPDATE batch_export_runs SET due_at = now() WHERE id IN (
      SELECT id FROM batch_export_runs WHERE status IN ('Starting', 'Running')
        AND cancel_requested_at IS NOT NULL AND worker_id IS NULL AND due_at > now()
        FOR UPDATE SKIP LOCKED)`);
}
