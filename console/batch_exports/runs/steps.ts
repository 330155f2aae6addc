import type { BatchExportRun } from '../../../server/api/batch_exports/runs/schema.ts';
import type { MetricPoint } from '../../../server/api/batch_exports/metrics/schema.ts';
import { counted, inBytes } from '../quantities.ts';

/** A step of a run: what happened, when it began, and how long it took as far as that is known. */
export type Step = { name: string; at: string | null; seconds: number | null; told: string };

/** The steps of a run, as far as the run and its metrics tell them. */
export function stepsOf(run: BatchExportRun, point: MetricPoint | undefined): Step[] {
  const worked = point?.duration_seconds ?? null;
  const began =
    worked === null || run.finished_at === null
      ? null
      : new Date(Date.parse(run.finished_at) - worked * 1000).toISOString();
  const waited = began === null ? null : (Date.parse(began) - Date.parse(run.created_at)) / 1000;
  const { records_total_count: total, records_completed: done } = run;
  return [
    {
      name: 'Waited for a worker',
      at: run.created_at,
      seconds: waited === null ? null : Math.max(0, waited),
      told: run.status === 'Starting' ? 'It waits.' : began === null ? '' : 'A worker took it.',
    },
    {
      name: 'Counted at the source',
      at: began,
      seconds: null,
      told: total === null ? 'Not yet.' : `${counted(total, 'row')}.`,
    },
    {
      name: 'Read and sent',
      at: began,
      seconds: worked,
      told:
        done === null
          ? 'Not yet.'
          : `${counted(done, 'row')}, ${inBytes(run.bytes_completed)}` +
            `${run.cursor === null ? '' : `, ${counted(Number(run.cursor), 'slice')} safe`}.`,
    },
    {
      name: run.status === 'Completed' ? 'Committed' : 'Ended',
      at: run.finished_at,
      seconds: null,
      told: run.status === 'Completed' ? 'Its receipt is signed.' : (run.latest_error ?? ''),
    },
  ].filter(({ told, at }) => told !== '' || at !== null);
}

/** What came of a run, in a sentence. */
export function outcomeOf(run: BatchExportRun): string {
  const rows = run.records_completed ?? 0;
  switch (run.status) {
    case 'Completed':
      return rows === 0
        ? 'Completed: there was nothing to deliver.'
        : `Completed: ${counted(rows, 'row')} in ${inBytes(run.bytes_completed)}, each counted ` +
            'at the source and safe at the destination.';
    case 'Starting':
      return run.latest_error === null
        ? 'It waits for a worker.'
        : `It waits to be tried again: ${run.latest_error}`;
    case 'Running':
      return run.records_total_count === null
        ? 'A worker has it and counts its rows.'
        : `A worker delivers it: ${counted(rows, 'row')} of ` +
            `${run.records_total_count.toLocaleString('en')} are safe.`;
    case 'Cancelled':
      return 'Cancelled: nothing of it is at the destination.';
    default:
      return `Failed: ${run.latest_error ?? 'its log says why.'}`;
  }
}
