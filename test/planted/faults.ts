import type { Fault } from './fault.ts';

/** The faults that tests find; each test file kills what it proves the absence of. */
export const faults: Fault[] = [
  {
    name: 'new runs deliver again what a run in doubt may have delivered',
    path: 'server/engine/model/ledger/ledger.ts',
    was: "WHERE run.status IN ('Starting', 'Running') OR (run.status <> 'Completed'\n    AND run.committing_at IS NOT NULL)`;",
    is: "WHERE run.status IN ('Starting', 'Running')`;",
    killed_by: 'server/engine/exports/planning/make_up.test.ts',
  },
  {
    name: 'a worker ends a run that another worker has taken over',
    path: 'server/engine/exports/runs/end_runs.ts',
    was: 'JOIN ended USING (id, attempt)',
    is: 'JOIN ended USING (id)',
    killed_by: 'server/engine/exports/runs/progress.test.ts',
  },
  {
    name: 'a run that ended in doubt is made up for, so that its rows come twice',
    path: 'server/engine/exports/planning/make_up.ts',
    was: 'const rest = await undelivered(tx, run.batch_export_id, run.revision, wanted);',
    is: 'const rest = wanted;',
    killed_by: 'server/engine/exports/planning/make_up.test.ts',
  },
];
