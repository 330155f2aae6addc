import type { Fault } from './fault.ts';

/** Faults of schedules, backfills and make-up runs. */
export const planning_faults: Fault[] = [
  {
    name: 'a scheduled run delivers again what a backfill has or had',
    path: 'server/engine/exports/runs/plan_scheduled_runs.ts',
    was: ': subtract(within, taken.get(row.id) ?? []),',
    is: ': within,',
    killed_by: 'server/engine/exports/planning/make_up.test.ts',
  },
  {
    name: 'the last millisecond of an interval belongs to no run',
    path: 'server/engine/exports/runs/plan_scheduled_runs.ts',
    was: 'inserted_to: Date.parse(of.next_run_at),',
    is: 'inserted_to: Date.parse(of.next_run_at) - 1,',
    killed_by: 'server/engine/exports/runs/plan_due_exports.test.ts',
  },
  {
    name: 'the schedule skips an interval after each run',
    path: 'server/engine/exports/runs/plan_scheduled_runs.ts',
    was: 'UPDATE batch_exports SET planned_until = batch_exports.next_run_at,',
    is: 'UPDATE batch_exports SET planned_until = planned.next_run_at,',
    killed_by: 'server/engine/exports/runs/plan_due_exports.test.ts',
  },
  {
    name: 'a schedule is planned by what another primary promised',
    path: 'server/engine/exports/runs/plan_scheduled_runs.ts',
    was: 'const own = rows.filter((row) => row.epoch === epoch);',
    is: 'const own = rows;',
    killed_by: 'server/engine/exports/runs/plan_due_exports.test.ts',
  },
  {
    name: 'a run counts as empty by a look at the query before its change',
    path: 'server/engine/exports/runs/plan_scheduled_runs.ts',
    was: 'seen.of.model === row.model &&\n    seen.of.custom_query === row.custom_query;',
    is: 'seen.of.model === row.model;',
    killed_by: 'server/engine/exports/runs/plan_due_exports.test.ts',
  },
  {
    name: 'the last interval before the end of an export is not delivered',
    path: 'server/engine/exports/planning/plan.ts',
    was: 'return end !== null && boundary > end ? null : boundary;',
    is: 'return end !== null && boundary >= end ? null : boundary;',
    killed_by: 'server/engine/exports/planning/plan.test.ts',
  },
  {
    name: 'a day has 24 hours also when the clocks change',
    path: 'server/engine/exports/planning/interval.ts',
    was: 'return boundaryOf(rhythm, dateOf(rhythm, instant).add({ days: daysOf(rhythm) }));',
    is: 'return boundaryAtOrBefore(rhythm, instant) + daysOf(rhythm) * 86_400_000;',
    killed_by: 'server/engine/exports/planning/interval.test.ts',
  },
  {
    name: 'a backfill begins before rows below its watermark have settled',
    path: 'server/engine/exports/runs/advance_backfills.ts',
    was: 'Date.parse(backfill.watermark) + engine.settle_seconds * 1000)',
    is: 'Date.parse(backfill.watermark))',
    killed_by: 'server/engine/exports/planning/make_up.test.ts',
  },
  {
    name: 'a backfill begins while a batch below its watermark may still come',
    path: 'server/engine/exports/runs/advance_backfills.ts',
    was: 'return Date.parse(await settled(tx, row.team_id)) >= Date.parse(backfill.watermark);',
    is: 'return true;',
    killed_by: 'server/engine/exports/planning/make_up.test.ts',
  },
  {
    name: 'two processes plan the same intervals of a backfill',
    path: 'server/engine/exports/runs/advance_backfills.ts',
    was: 'if (backfill.next_start_at !== seen.next_start_at || !isSame',
    is: 'if (!isSame',
    killed_by: 'server/engine/exports/runs/empty_backfill.test.ts',
  },
  {
    name: 'an interval counts as empty although a run has given its rows back',
    path: 'server/engine/exports/runs/plan_backfill_runs.ts',
    was:
      'const isTrue = ahead !== undefined && subtract(subtract([whole], taken), ' +
      'ahead.rest).length === 0;',
    is: 'const isTrue = ahead !== undefined;',
    killed_by: 'server/engine/exports/runs/empty_backfill.test.ts',
  },
  {
    name: 'rows left to a cancelled run are not made up for',
    path: 'server/engine/exports/runs/end_runs.ts',
    was: "if (end.status !== 'Completed') await makeUp(tx, run);",
    is: "if (end.status === 'Failed') await makeUp(tx, run);",
    killed_by: 'server/engine/exports/planning/make_up.test.ts',
  },
  {
    name: 'a run that ended in doubt is made up for, and its rows come twice',
    path: 'server/engine/exports/planning/make_up.ts',
    was: 'const rest = await undelivered(tx, run.batch_export_id, run.revision, wanted);',
    is: 'const rest = wanted;',
    killed_by: 'server/engine/exports/planning/make_up.test.ts',
  },
  {
    name: 'a run is made up for although the other one was cancelled as well',
    path: 'server/engine/exports/planning/make_up.ts',
    was: "\n      AND later.status <> 'Cancelled'`);",
    is: '`);',
    killed_by: 'server/engine/exports/planning/make_up.test.ts',
  },
];
