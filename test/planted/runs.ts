import type { Fault } from './fault.ts';

/** Faults of fences, commits, retries, claims and leases. */
export const runs_faults: Fault[] = [
  {
    name: 'a worker ends a run that another worker has taken over',
    path: 'server/engine/exports/runs/end_runs.ts',
    was: 'JOIN ended USING (id, attempt)',
    is: 'JOIN ended USING (id)',
    killed_by: 'server/engine/exports/runs/progress.test.ts',
  },
  {
    name: 'a worker commits a run that another worker has taken over',
    path: 'server/engine/exports/runs/progress.ts',
    was:
      'WHERE run.id = wanted.id AND run.attempt = wanted.attempt AND run.status = ' +
      "'Running'\n      AND (run.cancel_requested_at IS NULL OR run.committing_at IS " +
      'NOT NULL)\n      AND run.id IN (SELECT id FROM free) RETURNING run.id, ' +
      'run.attempt`);',
    is:
      "WHERE run.id = wanted.id AND run.status = 'Running'\n      AND " +
      '(run.cancel_requested_at IS NULL OR run.committing_at IS NOT NULL)\n      ' +
      'RETURNING run.id, wanted.attempt`);',
    killed_by: 'server/engine/exports/runs/progress.test.ts',
  },
  {
    name: 'a worker changes a run that another worker has taken over',
    path: 'server/engine/exports/runs/progress.ts',
    was: "AND attempt = ${run.attempt} AND status = 'Running'`);\n  if",
    is: "AND status = 'Running'`);\n  if",
    killed_by: 'server/engine/exports/runs/progress.test.ts',
  },
  {
    name: 'a run that was cancelled is committed all the same',
    path: 'server/engine/exports/runs/progress.ts',
    was: 'if ((await findHeld(engine, run)) !== undefined) return false;',
    is: 'if ((await findHeld(engine, run)) !== undefined) return true;',
    killed_by: 'server/engine/exports/runs/progress.test.ts',
  },
  {
    name: 'a later attempt believes that the destination refused an earlier commit',
    path: 'server/engine/exports/delivery/settle_failure.ts',
    was: 'return run.committing_at === null && error instanceof',
    is: 'return error instanceof',
    killed_by: 'server/engine/exports/delivery/settle_failure.test.ts',
  },
  {
    name: 'a delivery that was shown is given back with its failed runs',
    path: 'server/engine/exports/runs/progress.ts',
    was: "AND status NOT IN ('Starting', 'Running', 'Completed')`);",
    is: "AND status NOT IN ('Starting', 'Running')`);",
    killed_by: 'server/engine/exports/runs/release_delivery.test.ts',
  },
  {
    name: 'a run is retried beside a retry that is open',
    path: 'server/api/batch_exports/runs/retry_plan.ts',
    was: 'if (state.open) return',
    is: 'if (state.open && state.completed) return',
    killed_by: 'server/api/batch_exports/bulk_actions/bulk_actions.test.ts',
  },
  {
    name: 'a retry goes on with a commit at a place that the export has left',
    path: 'server/api/batch_exports/runs/retry_plan.ts',
    was: 'return state.committing_revision === of.revision',
    is: 'return state.committing_revision !== null',
    killed_by: 'server/api/batch_exports/runs/runs.test.ts',
  },
  {
    name: 'a retry of fewer rows replaces the files of the whole delivery',
    path: 'server/api/batch_exports/runs/retry.ts',
    was: ': insert(tx, row, run, rest, uuidv7());',
    is: ': insert(tx, row, run, rest, run.delivery_id);',
    killed_by: 'server/api/batch_exports/runs/runs.test.ts',
  },
  {
    name: 'rejected rows are delivered again to a place that never rejected them',
    path: 'server/api/batch_exports/runs/redeliver.ts',
    was: 'if (run.revision !== row.revision)',
    is: 'if (run.revision > row.revision)',
    killed_by: 'server/api/batch_exports/runs/redeliver.test.ts',
  },
  {
    name: 'a claim does not fence off the worker that had the run before',
    path: 'server/engine/exports/workers/claims.ts',
    was: 'THEN 1 ELSE ${epoch_step}',
    is: 'THEN 0 ELSE ${epoch_step}',
    killed_by: 'server/engine/exports/workers/claims.test.ts',
  },
  {
    name: 'a project gets one run more than its bound',
    path: 'server/engine/exports/workers/claims.ts',
    was: '(WHERE NOT is_stalled) >= ${bounds.project_runs_max}',
    is: '(WHERE NOT is_stalled) > ${bounds.project_runs_max}',
    killed_by: 'server/engine/exports/workers/claims.test.ts',
  },
  {
    name: 'a run is taken before the pause after its failure is over',
    path: 'server/engine/exports/workers/claims.ts',
    was: 'AND run.team_id = project.team_id AND run.due_at <= now()',
    is: 'AND run.team_id = project.team_id',
    killed_by: 'server/engine/exports/workers/claims.test.ts',
  },
  {
    name: 'a worker takes a run that another one holds',
    path: 'server/engine/exports/workers/claims.ts',
    was: 'AND worker_id IS NULL FOR NO KEY UPDATE SKIP LOCKED',
    is: 'FOR NO KEY UPDATE SKIP LOCKED',
    killed_by: 'server/engine/exports/workers/look_after.test.ts',
  },
  {
    name: 'a worker goes on with a run that another one has taken over',
    path: 'server/engine/exports/workers/look_after.ts',
    was: ': state.attempt !== run.attempt',
    is: ': state.attempt < run.attempt',
    killed_by: 'server/engine/exports/workers/look_after.test.ts',
  },
  {
    name: 'the runs of a worker that lives are given to others',
    path: 'server/engine/exports/workers/heartbeat.ts',
    was:
      'OR worker.heartbeat_at < now() - make_interval(secs =>\n        ' +
      '${heartbeat_age_seconds_max}))`;',
    is: 'OR worker.heartbeat_at < now())`;',
    killed_by: 'server/engine/exports/workers/claims_released.test.ts',
  },
  {
    name: 'files that a living worker writes for a deleted project are removed too early',
    path: 'server/engine/exports/workers/leftovers.ts',
    was: 'AND heartbeat_at >= now() - make_interval',
    is: 'AND heartbeat_at <= now() - make_interval',
    killed_by: 'server/engine/exports/workers/leftovers.test.ts',
  },
];
