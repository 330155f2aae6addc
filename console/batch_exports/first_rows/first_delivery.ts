import type { BatchExportRun } from '../../../server/api/batch_exports/runs/schema.ts';

/** After so many scheduled deliveries, or so much time, an export is no longer new. */
const deliveries_max = 3;
const new_for_ms = 7 * 86_400_000;

type Run = Pick<
  BatchExportRun,
  'kind' | 'repeats' | 'records_completed' | 'data_interval_start' | 'data_interval_end'
>;

/**
 * Returns the largest completed run (newest first), and all rows so far including backfills, while
 * the export is new; undefined before its first delivery. Rows count once: repeats for an erasure
 * or a repair are left out, and so are runs before a table was dropped.
 */
export function firstDelivery<One extends Run>(
  completed: One[],
  backfilled: number,
  created_at: string,
  now: number,
): { run: One; rows: number } | undefined {
  const intervals = new Set<string>();
  const filled = completed
    .filter((run) => {
      const { kind, repeats, data_interval_start, data_interval_end } = run;
      const interval = `${kind} ${data_interval_start} ${data_interval_end}`;
      if (rowsOf(run) === 0 || (repeats !== null && repeats !== 'retry')) return false;
      return intervals.size < intervals.add(interval).size;
    })
    .toSorted((one, other) => rowsOf(other) - rowsOf(one));
  const by_schedule = filled.filter(({ kind }) => kind === 'scheduled');
  const [run] = filled;
  if (
    run === undefined ||
    by_schedule.length > deliveries_max ||
    now - Date.parse(created_at) > new_for_ms
  )
    return undefined;
  // The count of the backfill may be a moment older than its runs.
  return { run, rows: Math.max(backfilled + rowsOfAll(by_schedule), rowsOfAll(filled)) };
}

function rowsOfAll(runs: Run[]): number {
  return runs.reduce((sum, one) => sum + rowsOf(one), 0);
}

function rowsOf({ records_completed }: Run): number {
  return records_completed ?? 0;
}
