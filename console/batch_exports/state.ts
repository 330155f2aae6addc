import type { BatchExport } from '../../server/api/batch_exports/schema.ts';

/** How an export stands: a word for it, and how much it asks for attention. */
export type State = { word: string; tone: 'good' | 'warn' | 'bad' | 'muted' };

type Status = BatchExport['latest_runs'][number]['status'];

/** How a run stands, by its status. */
export const run_states: Record<Status, State> = {
  Starting: { word: 'Waiting', tone: 'muted' },
  Running: { word: 'Running', tone: 'muted' },
  Completed: { word: 'Completed', tone: 'good' },
  Failed: { word: 'Failed', tone: 'bad' },
  FailedRetryable: { word: 'Failed', tone: 'bad' },
  Cancelled: { word: 'Cancelled', tone: 'warn' },
  TimedOut: { word: 'Timed out', tone: 'bad' },
  Terminated: { word: 'Ended', tone: 'bad' },
  ContinuedAsNew: { word: 'Continued', tone: 'muted' },
};

/** How an export stands: what it waits for, or how its newest run that ended did. */
export function stateOf({
  paused,
  pause_reason,
  latest_runs,
}: Pick<BatchExport, 'paused' | 'pause_reason' | 'latest_runs'>): State {
  if (pause_reason !== null) return { word: 'Paused by the server', tone: 'bad' };
  if (paused) return { word: 'Paused', tone: 'warn' };
  const ended = latest_runs.find(({ finished_at }) => finished_at !== null);
  if (ended !== undefined && run_states[ended.status].tone === 'bad')
    return { word: 'Failing', tone: 'bad' };
  return { word: 'Active', tone: 'good' };
}

/** So long the backfill that an export is made with may wait before it has a run, and work. */
const new_for_ms = 120_000;

/** Whether it may get further at any moment: a run of it is open, or it is new. */
export function isLively(
  { latest_runs, created_at }: Pick<BatchExport, 'latest_runs' | 'created_at'>,
  now_ms: number,
): boolean {
  return (
    latest_runs.some(({ finished_at }) => finished_at === null) ||
    // The clock of a browser may be behind.
    Math.abs(now_ms - Date.parse(created_at)) < new_for_ms
  );
}
