import type { ListedRun } from '../runs/listed_run.ts';
import type { Backfill } from '../../../server/api/batch_exports/backfills/schema.ts';
import { attemptsOf } from '../runs/attempts.ts';
import { foldRuns } from '../runs/intervals.ts';
import type { RunInterval } from '../runs/intervals.ts';

/** A time in which attempts at runs failed. */
export type Incident = {
  /** Its intervals, latest data first. */
  intervals: RunInterval[];
  /** Its intervals that are not delivered. */
  missing: RunInterval[];
  /** Time of the first failed attempt. */
  since: string;
  /** Time of the last delivery of its intervals; null while one is missing. */
  until: string | null;
  /** Start and end of the data. */
  data: { from: string; to: string };
  failed_attempts: number;
  cause: string | undefined;
  /** The earliest next try; null if no run waits for one. */
  next_try_at: string | null;
  /** Rows that the runs counted at the source; `is_partial`: some have not counted yet. */
  counted: number;
  is_partial: boolean;
  delivered: number;
  refused: number;
};

/** An interval in trouble, with the times of its failed attempts and of its delivery. */
type Troubled = { interval: RunInterval; failures: number[]; from: number; until: number };

/**
 * The longest wait between two attempts: a failure within this time belongs to the same incident.
 */
const slack_ms = 120_000;

/**
 * Finds the incidents in the runs of an export, latest first. Intervals that were in trouble at the
 * same time form one incident.
 */
export function incidentsOf(runs: ListedRun[], now_ms: number): Incident[] {
  const troubled = foldRuns(runs)
    .flatMap((interval) => troubleOf(interval, now_ms))
    .toSorted((one, two) => one.from - two.from);
  const incidents: Troubled[][] = [];
  let until = -Infinity;
  for (const one of troubled) {
    if (one.from <= until + slack_ms) incidents.at(-1)!.push(one);
    else incidents.push([one]);
    until = Math.max(until, one.until);
  }
  return incidents.toReversed().map(incidentOf);
}

/** Returns the trouble of an interval; undefined if no attempt failed. */
function troubleOf(interval: RunInterval, now_ms: number): Troubled[] {
  const failures = failuresOf(interval, now_ms);
  if (failures.length === 0) return [];
  const { finished_at } = interval.told;
  const is_over = interval.state.tone === 'good' && finished_at !== null;
  return [
    {
      interval,
      failures,
      from: failures.reduce((least, at) => Math.min(least, at), Infinity),
      until: is_over ? Date.parse(finished_at) : Infinity,
    },
  ];
}

/** Lists the times of failed attempts at an interval, in milliseconds. */
function failuresOf({ runs }: RunInterval, now_ms: number): number[] {
  return runs.flatMap((run) =>
    attemptsOf(run, now_ms).flatMap(({ outcome, to }) => (outcome === 'failed' ? [to] : [])),
  );
}

function incidentOf(troubled: Troubled[]): Incident {
  const intervals = troubled
    .map(({ interval }) => interval)
    .toSorted((one, two) => (one.told.data_interval_start < two.told.data_interval_start ? 1 : -1));
  const missing = intervals.filter(({ state }) => state.tone !== 'good');
  const told = intervals.map((interval) => interval.told);
  const ends = told.flatMap(({ finished_at }) => finished_at ?? []).toSorted();
  const tries = told.flatMap(({ next_try_at }) => next_try_at ?? []).toSorted();
  const finals = intervals.flatMap(({ shown }) => shown);
  const sum = (value: (run: ListedRun) => number) =>
    finals.reduce((total, run) => total + value(run), 0);
  return {
    intervals,
    missing,
    since: new Date(troubled[0]!.from).toISOString(),
    until: missing.length > 0 ? null : (ends.at(-1) ?? null),
    data: {
      from: told.at(-1)!.data_interval_start,
      to: told
        .map(({ data_interval_end: end }) => end)
        .toSorted()
        .at(-1)!,
    },
    failed_attempts: troubled.reduce((sum, { failures }) => sum + failures.length, 0),
    cause:
      intervals
        .flatMap(({ runs }) => runs)
        .toSorted((one, two) => (one.last_updated_at < two.last_updated_at ? -1 : 1))
        .findLast(({ latest_error }) => latest_error !== null)?.latest_error ?? undefined,
    next_try_at: tries[0] ?? null,
    counted: sum(({ records_total_count: rows }) => rows ?? 0),
    is_partial: finals.some(({ records_total_count: rows }) => rows === null),
    delivered: sum(({ status, records_completed: rows }) =>
      status === 'Completed' ? (rows ?? 0) : 0,
    ),
    refused: sum(({ records_rejected: rows }) => rows),
  };
}

/**
 * Counts the rows of an incident that were sent twice. Only a backfill of all rows can repeat a
 * row; the ledger prevents everything else.
 */
export function doubledIn({ data, since }: Incident, backfills: Backfill[]): number {
  return backfills
    .filter(
      ({ mode, by, start_at, end_at, created_at }) =>
        mode === 'all' &&
        created_at !== null &&
        created_at >= since &&
        (by === 'timestamp' || (start_at < data.to && end_at > data.from)),
    )
    .reduce((sum, { progress }) => sum + progress.records_completed, 0);
}
