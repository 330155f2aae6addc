import type { ListedRun } from './listed_run.ts';
import { retrying, run_states, stateOfRun } from '../state.ts';
import type { State } from '../state.ts';

/** The runs for one interval of a schedule or a backfill, as one line of the list. */
export type RunInterval = {
  key: string;
  /** Oldest first. */
  runs: [ListedRun, ...ListedRun[]];
  /** The run that decides the interval's state. */
  told: ListedRun;
  /** The latest completed run of each delivery; without one, the run that decides the state. */
  shown: ListedRun[];
  state: State;
  /**
   * Rows of each delivery, counted once even if it was written several times; null before they were
   * counted.
   */
  records_completed: number | null;
  records_rejected: number;
  bytes_completed: number;
  /** Number of attempts over all runs. */
  attempts: number;
};

const keyOf = ({ data_interval_start, data_interval_end, backfill }: ListedRun) =>
  `${data_interval_start} ${data_interval_end} ${backfill ?? ''}`;

/** Groups runs by interval, in the order of first appearance. */
export function foldRuns(runs: ListedRun[]): RunInterval[] {
  const groups = new Map<string, ListedRun[]>();
  for (const run of runs) {
    const key = keyOf(run);
    groups.set(key, [...(groups.get(key) ?? []), run]);
  }
  return [...groups].map(([key, group]) => intervalOf(key, group));
}

function intervalOf(key: string, group: ListedRun[]): RunInterval {
  const runs = group.toSorted((one, two) => (one.created_at < two.created_at ? -1 : 1)) as [
    ListedRun,
    ...ListedRun[],
  ];
  const told = tellingOf(runs);
  const latest = new Map(
    runs.filter(({ status }) => status === 'Completed').map((run) => [run.delivery_id, run]),
  );
  const shown = latest.size > 0 ? [...latest.values()] : [told];
  const sum = (value: (run: ListedRun) => number) =>
    shown.reduce((total, run) => total + value(run), 0);
  return {
    key,
    runs,
    told,
    shown,
    state: stateOfInterval(told),
    records_completed: shown.every(({ records_completed: rows }) => rows === null)
      ? null
      : sum(({ records_completed: rows }) => rows ?? 0),
    records_rejected: sum(({ records_rejected: rows }) => rows),
    bytes_completed: sum(({ bytes_completed: bytes }) => bytes),
    attempts: runs.reduce((total, { steps }) => total + steps.length, 0),
  };
}

/** Returns the run in progress, or the latest completed one, or the latest. */
function tellingOf(runs: [ListedRun, ...ListedRun[]]): ListedRun {
  return (
    runs.findLast(({ finished_at }) => finished_at === null) ??
    runs.findLast(({ status }) => status === 'Completed') ??
    runs.at(-1)!
  );
}

/** The list may be filtered to failed runs, so a later successful run may be missing in it. */
function stateOfInterval(run: ListedRun): State {
  if (run.retry === 'completed' || run.retry === 'delivered')
    return { ...run_states.Completed, word: 'Delivered since' };
  if (run.retry === 'in_progress') return retrying;
  return stateOfRun(run);
}

const kinds = { scheduled: 'schedule', make_up: 'make up', backfill: 'backfill' } as const;
const rewrites = { erasure: 'erasure', repair: 'repair', rejected_rows: 'refused rows' } as const;

/** Returns the word for the purpose of a run. One that repeats a delivery has its own word. */
export function kindInWords({
  kind,
  repeats,
  is_run_now,
}: Pick<ListedRun, 'kind' | 'repeats' | 'is_run_now'>): string {
  if (is_run_now) return 'run now';
  return repeats === null || repeats === 'retry' ? kinds[kind] : rewrites[repeats];
}

/** Returns what a run of an interval repeats; undefined for the first run. */
export function repeatOf(run: Pick<ListedRun, 'repeats'>): string | undefined {
  if (run.repeats === 'erasure') return 'rewritten by an erasure';
  if (run.repeats === 'rejected_rows') return 'refused rows sent again';
  if (run.repeats === 'repair') return 'written again by a repair';
  return run.repeats === null ? undefined : 'retried';
}

const retry_notes: Record<NonNullable<ListedRun['retry']>, string> = {
  possible: '',
  in_progress: 'A retry is in progress.',
  completed: 'A retry has delivered it.',
  delivered: 'Other runs have delivered its rows, or are about to.',
  changed: 'The export was changed since: start a backfill to deliver it there.',
};

/** Returns why a failed run has no retry button; empty if it has one, or needs none. */
export function retryNoteOf({ retry }: Pick<ListedRun, 'retry'>): string {
  return retry === null ? '' : retry_notes[retry];
}
