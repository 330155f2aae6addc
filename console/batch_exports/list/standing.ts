import type {
  ExportOverview,
  HealthCode,
} from '../../../server/api/batch_exports/overview/schema.ts';
import { counted } from '../../page/quantities.ts';
import { run_states } from '../state.ts';
import type { State } from '../state.ts';

/** The health of an export in words, and its need of attention; the worst first. */
export const healths: Record<HealthCode, State> = {
  failing: { word: 'Failing', tone: 'bad' },
  paused_automatically: { word: 'Paused by the server', tone: 'bad' },
  late: { word: 'Late', tone: 'bad' },
  incomplete: { word: 'Incomplete', tone: 'bad' },
  unusual_volume: { word: 'Unusual volume', tone: 'warn' },
  paused: { word: 'Paused', tone: 'warn' },
  waiting: { word: 'Waiting for its first run', tone: 'muted' },
  up_to_date: { word: 'Up to date', tone: 'good' },
  ended: { word: 'Ended', tone: 'muted' },
};

/** The state of an export in a few words: an instant with its introduction, and a reason. */
export type Standing = State & {
  at: { before: string; instant: string } | undefined;
  why?: string;
};

type Told = Pick<
  ExportOverview,
  | 'health'
  | 'delivered_until'
  | 'records_by_backfills'
  | 'latest_run'
  | 'retrying'
  | 'failed_interval'
>;

/**
 * Returns the state of an export, its start, and its reason. Never says delivered, or about to
 * start, while a run of the schedule has failed or is in retry: its rows are missing.
 */
export function standingOf(row: Told): Standing {
  const { health, retrying, failed_interval: failed, delivered_until } = row;
  const { code, since } = health;
  if (failed !== null && code === 'incomplete') {
    const at = { before: ', since ', instant: failed.data_interval_start };
    return { ...healths.incomplete, at, why: errorOf(failed) };
  }
  const isWell = code === 'up_to_date' || code === 'waiting' || code === 'ended';
  if (retrying !== null && isWell) {
    const at = { before: ', since ', instant: retrying.since };
    return { word: 'Retrying', tone: 'warn', at, why: retrying.latest_error };
  }
  const at =
    since !== null
      ? { before: ', ', instant: since }
      : delivered_until !== null
        ? { before: ', until ', instant: delivered_until }
        : undefined;
  const why = reasonOf(row);
  // No run of the schedule, whose failures are told above: a backfill's, which its health leaves
  // out.
  if (isWell && hasFailed(row)) return { ...failedBackfill(row), at, why: look_at_runs };
  return { ...(backfilled(row) ?? healths[code]), at, ...(why === undefined ? {} : { why }) };
}

function reasonOf({ health: { code, detail }, retrying, failed_interval }: Told) {
  if (code === 'failing' || code === 'paused_automatically')
    return detail.replace(/^(Failing|Paused by the server): /, '');
  if (failed_interval !== null)
    return `An interval failed and was not delivered since: ${errorOf(failed_interval)}`;
  return retrying === null ? undefined : `A run is tried again: ${retrying.latest_error}`;
}

const look_at_runs = 'The latest run of a backfill failed. Its runs say why.';

function hasFailed({ latest_run }: Told): boolean {
  return latest_run !== null && run_states[latest_run.status].tone === 'bad';
}

/** Returns the state of an export whose schedule is healthy, and whose latest run has failed. */
function failedBackfill(row: Told): State {
  const { word } = backfilled(row) ?? healths[row.health.code];
  return { word: `A backfill failed; ${word[0]!.toLowerCase()}${word.slice(1)}`, tone: 'bad' };
}

function errorOf({ latest_error, retry_run_id }: NonNullable<Told['failed_interval']>): string {
  const error = latest_error ?? 'Its run failed without a stored error.';
  return retry_run_id === null ? error : `A retry is in progress, after: ${error}`;
}

/**
 * Returns the state of an export that only backfills have delivered with so far; otherwise
 * undefined.
 */
function backfilled({ health: { code }, records_by_backfills: rows }: Told): State | undefined {
  if (code !== 'waiting' || rows === null || rows === 0) return undefined;
  return { word: `${counted(rows, 'row')} by backfills, waiting for its first run`, tone: 'good' };
}
