import sql from 'sql-template-tag';
import { break_offs_alone, break_offs_max } from '../runs/worker_crashes.ts';
import type { Engine } from '../engine.ts';
import type { StopReason } from '../delivery/attempt.ts';
import { writeRunLog } from '../../model/run_log.ts';
import type { ClaimedRun } from '../../model/run.ts';
import { followPrimary } from './follow_primary.ts';
import {
  beat,
  hurryCancelled,
  releaseDead,
  heartbeat_age_seconds_max,
  stillLives,
} from './heartbeat.ts';
import type { ReleasedRun } from './heartbeat.ts';

/**
 * The runs in this process. A run may briefly be there twice: lost to another worker, and claimed
 * again.
 */
export type Active = Map<
  ClaimedRun,
  { controller: AbortController; ended: Promise<void>; is_stalled: boolean }
>;

/**
 * Runs one turn of the duties that must not wait for planning. It sends the heartbeat, stops runs
 * that were cancelled, deleted or claimed by others, and releases the runs of dead workers.
 */
export function lookAfter(engine: Engine, workerId: string, active: Active): () => Promise<void> {
  let beaten_at = -Infinity;
  const follow = followPrimary(engine);
  return async () => {
    const before = beaten_at;
    const beaten = await beat(engine.db, workerId);
    beaten_at = performance.now();
    await follow(beaten);
    await stillLives(engine.db, workerId);
    await stopUnwanted(engine, active);
    await hurryCancelled(engine.db);
    // After its own break, such as a restart of the control store, it judges others only after they
    // could send a heartbeat.
    if (beaten_at - before > (heartbeat_age_seconds_max * 1000) / 2) return;
    for (const run of await releaseDead(engine.db)) await tellReleased(engine, run);
  };
}

async function tellReleased(
  engine: Engine,
  { id: run_id, batch_export_id, is_counted, break_offs, pause_seconds }: ReleasedRun,
): Promise<void> {
  engine.log.info(
    { run_id, break_offs },
    'a run of a worker that stopped responding waits for another worker',
  );
  if (!is_counted || break_offs < break_offs_alone) return;
  const how =
    break_offs < break_offs_max
      ? `taken up again in ${pause_seconds} s, by a worker that has no other one`
      : 'given up';
  const message =
    `The worker process of this run stopped responding. That has happened ${break_offs} times ` +
    `since the run's last progress; the run is ${how}.`;
  await writeRunLog(engine.db, { batch_export_id, run_id, level: 'WARNING', message });
}

async function stopUnwanted(engine: Engine, active: Active): Promise<void> {
  if (active.size === 0) return;
  const looked_at = [...active];
  const ids = [...new Set(looked_at.map(([run]) => run.id))];
  const rows = await engine.db.rows<{ id: string; attempt: number; is_cancelled: boolean }>(sql`
    SELECT run.id, run.attempt, run.committing_at IS NULL AND (run.cancel_requested_at IS NOT NULL
      OR export.deleted_at IS NOT NULL OR export.revision <> run.revision) AS is_cancelled
    FROM batch_export_runs run JOIN batch_exports export ON export.id = run.batch_export_id
      WHERE run.id = ANY (${ids}::uuid[])`);
  const states = new Map(rows.map((row) => [row.id, row]));
  for (const [run, { controller }] of looked_at) {
    const state = states.get(run.id);
    const reason: StopReason | undefined =
      state === undefined
        ? 'gone'
        : state.attempt !== run.attempt
          ? 'lost'
          : state.is_cancelled
            ? 'cancelled'
            : undefined;
    if (reason !== undefined) controller.abort(reason);
  }
}
