import type { PlantedFault } from '../planted/fault.ts';

/** Faults in the ledger, the planner, make-up runs, backfills, watermarks and retention. */
export const planning_faults: (PlantedFault & { name: string })[] = [
  {
    name: 'new runs deliver again what a run in doubt may have delivered',
    path: 'server/engine/model/ledger/ledger.ts',
    was:
      "WHERE run.status IN ('Starting', 'Running') OR (run.status <> 'Completed'\n" +
      '    AND run.committing_at IS NOT NULL)`;',
    is: "WHERE run.status IN ('Starting', 'Running')`;",
  },
  {
    name: 'new runs deliver what open runs are delivering',
    path: 'server/engine/model/ledger/ledger.ts',
    was:
      "WHERE run.status IN ('Starting', 'Running') OR (run.status <> 'Completed'\n" +
      '    AND run.committing_at IS NOT NULL)`;',
    is:
      "WHERE (run.status NOT IN ('Starting', 'Running', 'Completed')\n" +
      '    AND run.committing_at IS NOT NULL)`;',
  },
  {
    name: 'the ledger is not asked for what was delivered',
    path: 'server/engine/model/ledger/ledger.ts',
    was: 'return areasOf(db, exports, sql`${in_ledgers} UNION ALL ${in_hand}`);',
    is: 'return areasOf(db, exports, in_hand);',
  },
  {
    name: 'the ledger keeps the latest delivery alone',
    path: 'server/engine/model/ledger/ledger.ts',
    was: 'union(fromStored(stored ?? []), selection)',
    is: 'union([], selection)',
  },
  {
    name: 'runs in hand of older revisions are left out too',
    path: 'server/engine/model/ledger/ledger.ts',
    was:
      'ON run.batch_export_id = wanted.id AND run.revision = wanted.revision\n' +
      '  WHERE run.status',
    is: 'ON run.batch_export_id = wanted.id\n  WHERE run.status',
  },
  {
    name: 'deliveries of older revisions count',
    path: 'server/engine/model/ledger/ledger.ts',
    was: 'ON ledger.batch_export_id = wanted.id AND ledger.revision = wanted.revision\n  LEFT',
    is: 'ON ledger.batch_export_id = wanted.id\n  LEFT',
  },
  {
    name: 'the schedule does not subtract',
    path: 'server/engine/exports/runs/plan_scheduled_runs.ts',
    was: ': subtract(within, taken.get(row.id) ?? []),',
    is: ': within,',
  },
  {
    name: 'the last millisecond of an interval is left out',
    path: 'server/engine/exports/runs/plan_scheduled_runs.ts',
    was: 'inserted_to: Date.parse(of.next_run_at),',
    is: 'inserted_to: Date.parse(of.next_run_at) - 1,',
  },
  {
    name: 'the first millisecond of an interval is left out',
    path: 'server/engine/exports/runs/plan_scheduled_runs.ts',
    was: 'inserted_from: Date.parse(of.planned_until),',
    is: 'inserted_from: Date.parse(of.planned_until) + 1,',
  },
  {
    name: 'the planner does not wait until rows are final',
    path: 'server/engine/exports/runs/plan_due_exports.ts',
    was: 'least(${settledBefore}::timestamptz, project.final) AS final',
    is: "'infinity'::timestamptz AS final",
  },
  {
    name: 'a paused export is planned',
    path: 'server/engine/exports/runs/plan_scheduled_runs.ts',
    was: 'AND NOT export.paused AND export.next_run_at',
    is: 'AND export.next_run_at',
  },
  {
    name: 'the schedule does not move on',
    path: 'server/engine/exports/runs/plan_scheduled_runs.ts',
    was: '  await moveOn(tx, own);\n',
    is: '',
  },
  {
    name: 'the schedule moves on by the wrong boundary',
    path: 'server/engine/exports/runs/plan_scheduled_runs.ts',
    was: 'SET planned_until = batch_exports.next_run_at,',
    is: 'SET planned_until = planned.next_run_at,',
  },
  {
    name: 'runs without rows are completed where rows were seen',
    path: 'server/engine/exports/runs/plan_scheduled_runs.ts',
    was: "known === 'empty'),",
    is: "known === 'empty' || known === 'small'),",
  },
  {
    name: 'a look at an older interval is believed',
    path: 'server/engine/exports/runs/plan_scheduled_runs.ts',
    was:
      '    seen.of.planned_until === row.planned_until &&\n' +
      '    seen.of.next_run_at === row.next_run_at &&\n',
    is: '',
  },
  {
    name: 'a run that ended in doubt is made up for, so that its rows come twice',
    path: 'server/engine/exports/planning/make_up.ts',
    was: 'const rest = await undelivered(tx, run.batch_export_id, run.revision, wanted);',
    is: 'const rest = wanted;',
  },
  {
    name: 'a make-up run delivers what nobody left to it',
    path: 'server/engine/exports/planning/make_up.ts',
    was: 'const wanted = intersect(fromStored(run.selection), later.map(baseOf));',
    is: 'const wanted = later.map(baseOf);',
  },
  {
    name: 'make-up runs follow runs that were planned before',
    path: 'server/engine/exports/planning/make_up.ts',
    was: 'AND later.created_at >= run.created_at',
    is: 'AND later.created_at < run.created_at',
  },
  {
    name: 'runs of another revision are made up for',
    path: 'server/engine/exports/planning/make_up.ts',
    was: 'AND export.deleted_at IS NULL AND export.revision = run.revision',
    is: 'AND export.deleted_at IS NULL',
  },
  {
    name: 'a delivery that is there is written once more under another name',
    path: 'server/engine/exports/planning/plan.ts',
    was: 'delivery_id: run.delivery_id ?? (run.is_make_up === true ? uuidv7() : id),',
    is: 'delivery_id: run.is_make_up === true ? uuidv7() : id,',
  },
  {
    name: 'a backfill delivers what was delivered',
    path: 'server/engine/exports/runs/plan_backfill_runs.ts',
    was: 'isReplaced ? [] : await takenFrom(tx, backfill, spans);',
    is: '[];',
  },
  {
    name: 'a backfill leaves its last interval out',
    path: 'server/engine/exports/runs/plan_backfill_runs.ts',
    was: 'SET next_start_at = ${isoInstant(next)},',
    is: 'SET next_start_at = ${isoInstant(next + 1)},',
  },
  {
    name: 'a look ahead counts although runs gave something back',
    path: 'server/engine/exports/runs/plan_backfill_runs.ts',
    was:
      'const isTrue = ahead !== undefined && subtract(subtract([whole], taken), ' +
      'ahead.rest).length === 0;',
    is: 'const isTrue = ahead !== undefined;',
  },
  {
    name: 'a backfill takes rows that come after it',
    path: 'server/engine/exports/planning/backfill_area.ts',
    was: 'inserted_from: -Infinity, inserted_to: watermark }',
    is: 'inserted_from: -Infinity, inserted_to: Infinity }',
  },
  {
    name: 'a backfill by insertion time takes rows that come after it',
    path: 'server/engine/exports/planning/backfill_area.ts',
    was: 'inserted_to: Math.min(to, watermark),',
    is: 'inserted_to: to,',
  },
  {
    name: 'a backfill does not wait for its watermark',
    path: 'server/engine/exports/runs/advance_backfills.ts',
    was: 'return Date.parse(await settled(tx, row.team_id)) >= Date.parse(backfill.watermark);',
    is: 'return true;',
  },
  {
    name: 'a backfill ends with runs open',
    path: 'server/engine/exports/runs/advance_backfills.ts',
    was: 'if (counts.open === 0)\n    await',
    is: 'if (counts.open >= 0)\n    await',
  },
  {
    name: 'a backfill of an older revision continues',
    path: 'server/engine/exports/runs/advance_backfills.ts',
    was: 'if (row === undefined || row.revision !== backfill.revision) {',
    is: 'if (row === undefined) {',
  },
  {
    name: 'a backfill plans an interval twice where two processes do',
    path: 'server/engine/exports/runs/advance_backfills.ts',
    was:
      'if (backfill.next_start_at !== seen.next_start_at || !isSameRhythm(row, seen)) ' +
      'return nothing;',
    is: '',
  },
  {
    name: 'a backfill never ends',
    path: 'server/engine/exports/runs/advance_backfills.ts',
    was: 'const isOver = next >= end || counts.failed',
    is: 'const isOver = next > end || counts.failed',
  },
  {
    name: 'a cancelled backfill leaves its runs',
    path: 'server/engine/exports/planning/backfill.ts',
    was: 'SET cancel_requested_at = now(), last_updated_at = now()\n      WHERE backfill_id',
    is: 'SET last_updated_at = now()\n      WHERE backfill_id',
  },
  {
    name: 'the export is not locked for its backfill',
    path: 'server/engine/exports/planning/backfill.ts',
    was: 'AND deleted_at IS NULL FOR UPDATE`);',
    is: 'AND deleted_at IS NULL`);',
  },
  {
    name: 'what the watermark promises is a second early',
    path: 'server/engine/ingest/lock.ts',
    was:
      'WHEN s.batch_id IS NULL THEN excluded.settled_until ELSE ' +
      's.last_inserted_at END)\n  RETURNING',
    is:
      "WHEN s.batch_id IS NULL THEN excluded.settled_until + interval '1 hour' " +
      'ELSE s.last_inserted_at END)\n  RETURNING',
  },
  {
    name: 'history that proves deliveries is swept',
    path: 'server/engine/exports/runs/sweep_history.ts',
    was:
      "WHERE run.status = 'Completed' AND run.records_completed = 0 AND " +
      'run.records_rejected = 0\n',
    is: "WHERE run.status = 'Completed'\n",
  },
];
