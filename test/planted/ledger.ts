import type { Fault } from './fault.ts';

/**
 * Faults of the delivery ledger: the rows that a run may leave out, and the rows that are added to
 * it.
 */
export const ledger_faults: Fault[] = [
  {
    name: 'a new run delivers again what a run in doubt may have delivered',
    path: 'server/engine/model/ledger/ledger.ts',
    was: " OR (run.status <> 'Completed'\n    AND run.committing_at IS NOT NULL)`;",
    is: '`;',
    killed_by: 'server/engine/exports/planning/make_up.test.ts',
  },
  {
    name: 'rows that another revision delivered count as delivered, and are left out',
    path: 'server/engine/model/ledger/ledger.ts',
    was: 'ON ledger.batch_export_id = wanted.id AND ledger.revision = wanted.revision',
    is: 'ON ledger.batch_export_id = wanted.id',
    killed_by: 'server/api/batch_exports/revision_change.test.ts',
  },
  {
    name: 'a run in doubt of another revision keeps its rows from this one',
    path: 'server/engine/model/ledger/ledger.ts',
    was: 'ON run.batch_export_id = wanted.id AND run.revision = wanted.revision',
    is: 'ON run.batch_export_id = wanted.id',
    killed_by: 'server/api/batch_exports/revision_change.test.ts',
  },
  {
    name: 'a page of a long ledger that reaches beyond the wanted area is not read',
    path: 'server/engine/model/ledger/ledger.ts',
    was: 'AND page.inserted_from <= wanted.inserted_to AND',
    is: 'AND page.inserted_to <= wanted.inserted_to AND',
    killed_by: 'server/engine/model/ledger/pages.test.ts',
  },
  {
    name: 'a completed run takes what others delivered out of the ledger',
    path: 'server/engine/model/ledger/ledger.ts',
    was: 'const delivered = union(fromStored(stored ?? []), selection);',
    is: 'const delivered = selection;',
    killed_by: 'server/engine/model/ledger/pages.test.ts',
  },
  {
    name: 'areas are joined that do not end at the same event time',
    path: 'server/engine/model/ledger/rectangles.ts',
    was: 'a.event_from === b.event_from && a.event_to === b.event_to && a',
    is: 'a.event_from === b.event_from && a',
    killed_by: 'server/engine/model/ledger/rectangles.test.ts',
  },
  {
    name: 'a gap of event time counts as covered',
    path: 'server/engine/model/ledger/spans.ts',
    was: '    if (event_from > reached) return false;\n',
    is: '',
    killed_by: 'server/engine/model/ledger/spans.test.ts',
  },
  {
    name: 'a failed run enters the ledger, and a completed one does not',
    path: 'server/engine/exports/runs/end_runs.ts',
    was: ".filter(({ end }) => end.status === 'Completed')",
    is: ".filter(({ end }) => end.status !== 'Completed')",
    killed_by: 'server/engine/exports/runs/progress.test.ts',
  },
];
