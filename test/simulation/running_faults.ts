import type { PlantedFault } from '../planted/fault.ts';

/** Faults in claims, leases, fences, deliveries, ends and retries. */
export const running_faults: (PlantedFault & { name: string })[] = [
  {
    name: 'what completed is not entered in the ledger',
    path: 'server/engine/exports/runs/end_runs.ts',
    was: "ended.filter(({ end }) => end.status === 'Completed').map",
    is: "ended.filter(({ end }) => end.status !== 'Completed').map",
  },
  {
    name: 'a worker ends a run that another worker has taken over',
    path: 'server/engine/exports/runs/end_runs.ts',
    was: 'JOIN ended USING (id, attempt)',
    is: 'JOIN ended USING (id)',
  },
  {
    name: 'a run that ended is ended once more',
    path: 'server/engine/exports/runs/end_runs.ts',
    was: "      WHERE run.status IN ('Starting', 'Running')\n        AND (run.attempt > 0",
    is: '      WHERE true\n        AND (run.attempt > 0',
  },
  {
    name: 'nothing is made up for',
    path: 'server/engine/exports/runs/end_runs.ts',
    was:
      "for (const { run, end } of ended) if (end.status !== 'Completed') await " +
      'makeUp(tx, run);',
    is: '',
  },
  {
    name: 'the end of a run has no reason',
    path: 'server/engine/exports/runs/end_runs.ts',
    was: 'latest_error = ended.message, steps',
    is: 'latest_error = NULL, steps',
  },
  {
    name: 'an end does not note when',
    path: 'server/engine/exports/runs/end_runs.ts',
    was: 'finished_at = now(),\n      last_updated_at = now(),\n      receipt',
    is: 'last_updated_at = now(),\n      receipt',
  },
  {
    name: 'a worker that was believed dead begins to commit',
    path: 'server/engine/exports/runs/progress.ts',
    was:
      'FROM wanted WHERE run.id = wanted.id AND run.attempt = wanted.attempt AND ' +
      "run.status = 'Running'\n      AND (run.cancel",
    is: "FROM wanted WHERE run.id = wanted.id AND run.status = 'Running'\n      AND (run.cancel",
  },
  {
    name: 'a cancelled run is committed',
    path: 'server/engine/exports/runs/progress.ts',
    was:
      'AND (run.cancel_requested_at IS NULL OR run.committing_at IS NOT NULL)\n' +
      '      AND run.id IN',
    is: 'AND run.id IN',
  },
  {
    name: 'a commit is begun without a mark',
    path: 'server/engine/exports/runs/progress.ts',
    was: 'SET receipt = wanted.receipt, committing_at = now(),',
    is: 'SET receipt = wanted.receipt,',
  },
  {
    name: 'the commit is sent to the destination before it is marked',
    path: 'server/engine/exports/delivery/execute.ts',
    was: '  if (!(await beginCommit(engine, run, text))) {\n    await watch',
    is:
      '  const marked = beginCommit(engine, run, text).catch(() => true);\n' +
      "  await watch.during('showing', () => sink.commit(outcomes, { name: " +
      "'manifest', text }));\n  if (!(await marked)) {\n    await watch",
  },
  {
    name: 'a failed attempt is never tried again',
    path: 'server/engine/exports/runs/progress.ts',
    was: 'worker_id = NULL, due_at = now() + make_interval(secs => ${delay_seconds}),',
    is: "worker_id = NULL, due_at = 'infinity',",
  },
  {
    name: 'a failed attempt keeps its worker',
    path: 'server/engine/exports/runs/progress.ts',
    was: 'worker_id = NULL, due_at = now() + make_interval(secs => ${delay_seconds}),',
    is: 'due_at = now() + make_interval(secs => ${delay_seconds}),',
  },
  {
    name: 'a refused commit stays in doubt',
    path: 'server/engine/exports/runs/progress.ts',
    was: 'return hold(engine.db, run, sql`committing_at = NULL`);',
    is: 'return hold(engine.db, run, sql`committing_at = committing_at`);',
  },
  {
    name: 'what was given back is still held by ended runs',
    path: 'server/engine/exports/runs/progress.ts',
    was: '    await releaseDelivery(tx, run);\n',
    is: '',
  },
  {
    name: 'slices of a lost stage count as safe',
    path: 'server/engine/exports/delivery/write_slices.ts',
    was:
      'if (surviving.length < known.length) await resetProgress(engine, run, ' +
      'surviving);\n' +
      '  const outcomes = new Map(surviving.map((outcome) => [outcome.number, ' +
      'outcome]));',
    is: 'const outcomes = new Map(known.map((outcome) => [outcome.number, outcome]));',
  },
  {
    name: 'every commit without an answer counts as refused',
    path: 'server/engine/exports/delivery/settle_failure.ts',
    was: 'return run.committing_at === null && error instanceof KnownError && error.is_certain;',
    is: 'return error instanceof KnownError;',
  },
  {
    name: 'a refusal of this attempt takes the doubt about an earlier one',
    path: 'server/engine/exports/delivery/settle_failure.ts',
    was: 'return run.committing_at === null && error',
    is: 'return error',
  },
  {
    name: 'a run in doubt is believed not to be there',
    path: 'server/engine/exports/delivery/settle_failure.ts',
    was: 'if (isThere === false) {',
    is: 'if (isThere !== true) {',
  },
  {
    name: 'a run in doubt is believed to be there',
    path: 'server/engine/exports/delivery/settle_failure.ts',
    was: 'if (isThere === true) return endRun',
    is: 'if (isThere !== false) return endRun',
  },
  {
    name: 'a destination that cannot say so is believed',
    path: 'server/engine/exports/delivery/abandon.ts',
    was: 'if (!settlesByAbort || !(await isOurs(engine, run))) return undefined;',
    is: 'if (!(await isOurs(engine, run))) return undefined;',
  },
  {
    name: 'a fault that another attempt may mend ends the run in silence',
    path: 'server/engine/exports/delivery/settle_failure.ts',
    was:
      'if (!isCancelled && !isFinal && run.failures + 1 < attempts_max)\n' +
      '    return retryLater(engine, run, { code, message });',
    is: 'if (!isCancelled && !isFinal) return;',
  },
  {
    name: 'a claim does not raise the attempt',
    path: 'server/engine/exports/workers/claims.ts',
    was: 'THEN 1 ELSE ${epoch_step}::int END AS attempt',
    is: 'THEN 0 ELSE ${epoch_step}::int END AS attempt',
  },
  {
    name: 'a claim takes ended runs',
    path: 'server/engine/exports/workers/claims.ts',
    was:
      "        AND status IN ('Starting', 'Running') AND worker_id IS NULL FOR " +
      'NO KEY UPDATE SKIP LOCKED',
    is: '        AND worker_id IS NULL FOR NO KEY UPDATE SKIP LOCKED',
  },
  {
    name: 'what a worker lost without a word never waits again',
    path: 'server/engine/exports/workers/claims.ts',
    was:
      "WHERE worker_id = ${claimant.worker_id} AND status IN ('Starting', " +
      "'Running')\n        AND id <> ALL",
    is:
      'WHERE false AND worker_id = ${claimant.worker_id} AND status IN ' +
      "('Starting', 'Running')\n        AND id <> ALL",
  },
  {
    name: 'runs of dead workers are not released',
    path: 'server/engine/exports/workers/heartbeat.ts',
    was: 'FROM batch_export_runs run LEFT JOIN workers worker',
    is: 'FROM batch_export_runs run JOIN workers worker',
  },
  {
    name: 'a worker is believed dead only after a year',
    path: 'server/engine/exports/workers/heartbeat.ts',
    was: 'export const heartbeat_age_seconds_max = 8;',
    is: 'export const heartbeat_age_seconds_max = 31_536_000;',
  },
  {
    name: 'dead workers are forgotten with their runs',
    path: 'server/engine/exports/workers/heartbeat.ts',
    was:
      '        AND NOT EXISTS (SELECT 1 FROM batch_export_runs run\n' +
      "          WHERE run.status IN ('Starting', 'Running') AND run.worker_id = " +
      'workers.id)',
    is: '',
  },
  {
    name: 'a worker that stops keeps its runs',
    path: 'server/engine/exports/workers/heartbeat.ts',
    was: 'SET worker_id = NULL${count} WHERE worker_id = ${workerId}',
    is: 'SET due_at = now()${count} WHERE worker_id = ${workerId}',
  },
  {
    name: 'a heartbeat does not count',
    path: 'server/engine/exports/workers/heartbeat.ts',
    was: '      SET heartbeat_at = now()\n',
    is: '      SET is_stopping = false\n',
  },
  {
    name: 'runs with rows are completed as empty',
    path: 'server/engine/exports/runs/empty_runs.ts',
    was: 'const { endings, unreadable } = signAll(engine, empty);',
    is: 'const { endings, unreadable } = signAll(engine, [...empty, ...small]);',
  },
  {
    name: 'an empty run that continues with a commit is completed',
    path: 'server/engine/exports/runs/empty_runs.ts',
    was: 'AND NOT run.needs_worker AND run.committing_at IS NULL',
    is: 'AND run.committing_at IS NULL',
  },
  {
    name: 'a retry beside an open retry',
    path: 'server/api/batch_exports/runs/retry_plan.ts',
    was: "if (state.open) return { refusal: 'in_progress' };",
    is: '',
  },
  {
    name: 'a retry of a delivery that has completed',
    path: 'server/api/batch_exports/runs/retry_plan.ts',
    was: "if (state.completed) return { refusal: 'completed' };",
    is: '',
  },
  {
    name: 'a retry of a run in doubt is another delivery',
    path: 'server/api/batch_exports/runs/retry_plan.ts',
    was: 'if (state.committing_run_id !== null)',
    is: "if (state.committing_run_id === '')",
  },
  {
    name: 'other rows bear the name of the old delivery',
    path: 'server/api/batch_exports/runs/retry.ts',
    was: 'return isSame(rest, selected)',
    is: 'return rest.length > 0',
  },
  {
    name: 'a retry continues without the mark of its commit',
    path: 'server/api/batch_exports/runs/retry.ts',
    was: 'receipt = o.receipt, committing_at = o.committing_at,',
    is: 'receipt = o.receipt,',
  },
  {
    name: 'a running commit is cancelled',
    path: 'server/api/batch_exports/runs/cancel.ts',
    was: 'if (run.committing_at !== null)',
    is: 'if (run.committing_at === undefined)',
  },
  {
    name: 'a cancel of the export is not looked at',
    path: 'server/engine/exports/delivery/execute.ts',
    was:
      'run.committing_at === null &&\n' +
      '    (run.cancel_requested_at !== null || run.is_deleted || run.revision ' +
      '!== run.export_revision)',
    is: 'false',
  },
];
