import { counted } from '../../../platform/counted.ts';
import { attempts_max } from '../../model/run.ts';
import type { FailedInterval } from './failed_intervals.ts';
import { deliveredSentence } from './health.ts';
import type { HealthCode } from './state.ts';

/**
 * Rows of earlier revisions that the present one lacks. `rows` is null once some of them were
 * delivered again. `from` and `until` are insertion times, null without a bound.
 */
export type MissingSinceChange = {
  since: string;
  rows: number | null;
  from: string | null;
  until: string | null;
};

/** The facts that a sentence about an export's state needs. Instants are ISO 8601. */
export type StateFacts = {
  code: HealthCode;
  since: string | null;
  /** Due intervals of the schedule that were not delivered, and their rows if known. */
  intervals: number;
  rows_waiting: number | null;
  /** Failed attempts of the run that Sluice retries; null without one. */
  attempt: number | null;
  next_try_at: string | null;
  cause: string | null;
  /** When the settings were changed after the end of the latest attempt. */
  changed_at: string | null;
  is_trying: boolean;
  failed_interval: FailedInterval | null;
  missing_since_change: MissingSinceChange | null;
  /** True if a backfill in progress may deliver them. */
  is_backfilled: boolean;
  backfill_error: string | null;
  records_rejected: number | null;
  records_by_backfills: number | null;
  delivered_until: string | null;
  open_runs: number;
  next_due_at: string | null;
  pause_detail: string | null;
};

/** Describes the state of an export in a few sentences, which begin with its word. */
export function stateSentence(facts: StateFacts): string {
  if (facts.code === 'partly_delivered') {
    const gaps = gapsOf(facts);
    return sentences(`Partly delivered${sinceOf(facts)}: ${lowered(gaps[0]!)}`, ...gaps.slice(1));
  }
  const own = ownSentences(facts);
  // A failing export names its missing intervals and the latest run's error.
  const failed_interval = facts.code === 'failing' ? null : facts.failed_interval;
  return sentences(...own, ...gapsOf({ ...facts, failed_interval }, own));
}

function ownSentences(facts: StateFacts): string[] {
  const { code, next_due_at, open_runs, records_by_backfills: backfilled } = facts;
  const since = sinceOf(facts);
  const until = deliveredSentence(facts.delivered_until);
  const cause = facts.cause === null ? [] : [facts.cause];
  switch (code) {
    case 'failing':
      return [`Failing${since}${waitingOf(facts)}`, ...cause, ...nextSentences(facts)];
    case 'retrying': {
      const attempt = `attempt ${facts.attempt} of ${attempts_max} failed: ${cause[0]}`;
      return [`Retrying${since}: ${attempt}`, ...nextSentences(facts), ...waits(facts)];
    }
    case 'paused_automatically':
      return [`Paused by the server: ${facts.pause_detail}`];
    case 'paused':
      return [`Paused${since}`, until, ...retried(facts)];
    case 'late':
      return [`Late${since}${waitingOf(facts)}`, until];
    case 'unusual_volume':
      return [`Unusual volume${since}: the newest run delivered an unusual number of rows`, until];
    case 'running':
      return [`Running${since}: ${counted(open_runs, 'run')} in progress`, until];
    case 'waiting': {
      const due = next_due_at === null ? '' : `: the first run is planned for ${next_due_at}`;
      const rows = backfilled === null || backfilled === 0 ? [] : [counted(backfilled, 'row')];
      return [
        `Waiting for the schedule${due}`,
        ...rows.map((text) => `Runs on request have delivered ${text} ahead of it`),
      ];
    }
    case 'ended':
      return ['Ended: the schedule is over (`end_at`)', until];
    default:
      return [`Up to date: ${lowered(until)}`];
  }
}

const sinceOf = ({ since }: StateFacts): string => (since === null ? '' : ` since ${since}`);

function waitingWords({ intervals, rows_waiting }: StateFacts): string | undefined {
  if (intervals === 0) return undefined;
  const rows = rows_waiting === null ? '' : `, ${counted(rows_waiting, 'row')}`;
  return `${counted(intervals, 'interval')}${rows} waiting`;
}

function waitingOf(facts: StateFacts): string {
  const words = waitingWords(facts);
  return words === undefined ? '' : `: ${words}`;
}

function waits(facts: StateFacts): string[] {
  const words = waitingWords(facts);
  return words === undefined ? [] : [words];
}

function nextSentences({ attempt, next_try_at, changed_at, is_trying }: StateFacts): string[] {
  const changed =
    changed_at === null
      ? []
      : [`The settings were changed at ${changed_at} and have not been tried yet`];
  if (is_trying) return [...changed, 'Sluice is trying again now'];
  if (next_try_at === null) return changed;
  // Without a run that waits, the next one is that of another interval.
  const next =
    attempt === null
      ? `Retry them after you remove the cause. The next interval runs at ${next_try_at}`
      : `Next try at ${next_try_at}`;
  return [...changed, next];
}

/** A paused export finishes its open runs. */
function retried({ attempt, cause }: StateFacts): string[] {
  return attempt === null ? [] : [`A run is retried, after attempt ${attempt} failed: ${cause}`];
}

/** Lists what the export lacks, one sentence for each kind; an error in `told` is not repeated. */
function gapsOf(facts: StateFacts, told: string[] = []): string[] {
  const { failed_interval, missing_since_change, backfill_error, records_rejected } = facts;
  return [
    ...(missing_since_change === null ? [] : [changeSentence(missing_since_change, facts)]),
    ...(failed_interval === null ? [] : [intervalSentence(failed_interval, told)]),
    ...(backfill_error === null
      ? []
      : [
          'A backfill or a run on request failed, and nothing has delivered its rows since: ' +
            backfill_error,
        ]),
    ...(records_rejected === null
      ? []
      : [
          `The destination refused ${counted(records_rejected, 'row')} of the newest run. They ` +
            'are set aside beside the table',
        ]),
  ];
}

function changeSentence(
  { rows, from, until }: MissingSinceChange,
  { is_backfilled }: StateFacts,
): string {
  const what = rows === null ? 'Rows' : `The ${counted(rows, 'row')}`;
  const when = [from === null ? '' : ` from ${from}`, until === null ? '' : ` to ${until}`].join(
    '',
  );
  return (
    `${what} that the export delivered before it started again have not been delivered ` +
    `since${when === '' ? '' : ` (ingested${when})`}. ` +
    (is_backfilled
      ? 'A backfill is in progress'
      : 'Start a backfill by insertion time (`inserted_at`) to deliver them, unless the ' +
        'destination still has them')
  );
}

function intervalSentence(failed: FailedInterval, told: string[]): string {
  const { data_interval_start: from, data_interval_end: to, retry_run_id, latest_error } = failed;
  const next = retry_run_id === null ? 'Retry it' : 'A retry is in progress';
  const is_told = latest_error !== null && told.some((sentence) => sentence.includes(latest_error));
  const why = is_told ? ' with the same error.' : `: ${ended(latest_error ?? 'No error was kept')}`;
  const missing = `Events ingested from ${from} to ${to} are missing`;
  return `${missing}, because their run failed${why} ${next}`;
}

/** Joins sentences; each ends with a full stop or another mark. */
function sentences(...parts: string[]): string {
  return parts.map(ended).join(' ');
}

const ended = (text: string): string => (/[.!?]$/.test(text.trimEnd()) ? text : `${text}.`);
const lowered = (text: string): string => text[0]!.toLowerCase() + text.slice(1);
