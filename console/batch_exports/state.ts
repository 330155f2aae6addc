import type { BatchExport } from '../../server/api/batch_exports/schema.ts';

/** The shape of a state, which distinguishes it without colour. */
export type Shape =
  | 'cross'
  | 'alert'
  | 'stop'
  | 'turn'
  | 'clock'
  | 'half'
  | 'wave'
  | 'play'
  | 'glass'
  | 'pause'
  | 'check'
  | 'dashes';

/** A state: its word, how much attention it needs, and its shape if it differs from the tone's. */
export type State = {
  word: string;
  tone: 'good' | 'warn' | 'bad' | 'muted';
  shape?: Shape | undefined;
};

type Run = BatchExport['latest_runs'][number];
type Status = Run['status'];

/** States of a run, by its status. */
export const run_states: Record<Status, State> = {
  Starting: { word: 'Waiting', tone: 'muted', shape: 'glass' },
  Running: { word: 'Running', tone: 'muted', shape: 'play' },
  Completed: { word: 'Completed', tone: 'good' },
  Failed: { word: 'Failed', tone: 'bad' },
  FailedRetryable: { word: 'Failed', tone: 'bad' },
  Cancelled: { word: 'Cancelled', tone: 'warn', shape: 'stop' },
  TimedOut: { word: 'Timed out', tone: 'bad', shape: 'clock' },
  Terminated: { word: 'Ended', tone: 'bad' },
  ContinuedAsNew: { word: 'Continued', tone: 'muted' },
};

/** The state of a delivery that is tried again. */
export const retrying: State = { word: 'Retrying', tone: 'warn', shape: 'turn' };

/** Returns the state of a run; a run that waits after a failed attempt is not running. */
export function stateOfRun({ status, next_try_at }: Pick<Run, 'status' | 'next_try_at'>): State {
  return next_try_at === null ? run_states[status] : retrying;
}

/** Time for which a new export's backfill may wait for its first run with rows. */
const new_for_ms = 120_000;

/** Returns true if it may progress at any moment: one of its runs is open, or it is new. */
export function isLively(
  { latest_runs, created_at }: Pick<BatchExport, 'latest_runs' | 'created_at'>,
  now_ms: number,
): boolean {
  return (
    latest_runs.some(({ finished_at }) => finished_at === null) ||
    // The browser's clock may be wrong.
    Math.abs(now_ms - Date.parse(created_at)) < new_for_ms
  );
}
