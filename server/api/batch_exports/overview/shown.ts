import type { Engine } from '../../../engine/exports/engine.ts';
import {
  countFailedIntervals,
  findFailedIntervals,
} from '../../../engine/exports/health/failed_intervals.ts';
import type {
  FailedCount,
  FailedInterval,
} from '../../../engine/exports/health/failed_intervals.ts';
import { stateSentence } from '../../../engine/exports/health/state_sentence.ts';
import type { StateFacts } from '../../../engine/exports/health/state_sentence.ts';
import { nominalLength } from '../../../engine/exports/planning/interval.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { ExportOverview } from './schema.ts';
import type { OverviewRow } from './store.ts';

/** Facts beside a row: its failed intervals, and the current instant. */
type Beside = {
  failed_interval: FailedInterval | null;
  failed: FailedCount;
  now: number;
  settle_seconds: number;
};

/** Returns the rows of a page in their wire form, each with its health in words. */
export async function shownOverview(
  { db, clock, settle_seconds }: Engine,
  rows: OverviewRow[],
): Promise<ExportOverview[]> {
  const found = await findFailedIntervals(db, rows);
  const counts = await countFailedIntervals(
    db,
    rows.flatMap(({ id, revision }) => {
      const earliest = found.get(id);
      return earliest === undefined ? [] : [{ id, revision, earliest }];
    }),
  );
  const now = clock.now();
  return rows.map((row) =>
    shown(row, {
      failed_interval: found.get(row.id) ?? null,
      failed: counts.get(row.id) ?? { intervals: 0, rows: 0 },
      now,
      settle_seconds,
    }),
  );
}

function shown(row: OverviewRow, beside: Beside): ExportOverview {
  const { failed_interval, settle_seconds } = beside;
  const next_run = row.next_run && { ...row.next_run, due_at: dueAt(row.next_run, settle_seconds) };
  const facts = factsOf(row, next_run, beside);
  const { code, since, intervals, rows_waiting, attempt, next_try_at, cause, changed_at } = facts;
  const { missing_since_change } = facts;
  return {
    id: row.id,
    team_id: row.team_id,
    name: row.name,
    model: row.model,
    destination_type: row.destination_type,
    interval: row.interval,
    timezone: row.timezone,
    offset_day: row.offset_day,
    offset_hour: row.offset_hour,
    offset_minute: row.offset_minute,
    paused: row.paused,
    created_at: row.created_at,
    tags: row.tags,
    health: {
      code,
      detail: stateSentence(facts),
      since,
      intervals,
      rows_waiting,
      attempt,
      next_try_at,
      cause,
      changed_at,
      missing_since_change,
    },
    delivered_until: row.delivered_until,
    delivered_through: earlier(row.delivered_through, failed_interval?.data_interval_start),
    oldest_row_seconds: row.oldest_row_seconds,
    newest_row_seconds: row.newest_row_seconds,
    verified_through: row.verified_through,
    verification: row.verification,
    records_by_backfills: row.records_by_backfills,
    next_run,
    open_runs: row.open_runs,
    latest_run: row.latest_run,
    retrying: row.retrying && retryingOf(row.retrying),
    failed_interval,
    records: row.records,
    records_day: row.records_day,
    managed_by: row.managed_by,
  };
}

/** Returns the time until which delivery has no gap: a failed interval ends it. */
function earlier(through: string | null, failed_from: string | undefined): string | null {
  if (through === null || failed_from === undefined) return through;
  return Date.parse(failed_from) < Date.parse(through) ? failed_from : through;
}

function retryingOf(row: NonNullable<OverviewRow['retrying']>): ExportOverview['retrying'] {
  const { attempt: _attempt, next_try_at: _next_try_at, tried_at: _tried_at, ...retrying } = row;
  return retrying;
}

const dueAt = ({ data_interval_end }: { data_interval_end: string }, settle_seconds: number) =>
  isoInstant(Date.parse(data_interval_end) + settle_seconds * 1000);

function factsOf(
  row: OverviewRow,
  next_run: ExportOverview['next_run'],
  beside: Beside,
): StateFacts {
  const { code, retrying, lacks_since } = row;
  return {
    code,
    since: row.since,
    ...waitingOf(row, next_run, beside),
    attempt: retrying?.attempt ?? null,
    ...nextTryOf(row, next_run),
    cause: causeOf(row, beside.failed_interval),
    changed_at: changedAt(row),
    failed_interval: beside.failed_interval,
    missing_since_change:
      lacks_since === null
        ? null
        : {
            since: lacks_since,
            rows: row.lacks_rows,
            from: row.lacks_from,
            until: row.lacks_until,
          },
    is_backfilled: row.is_backfilled,
    backfill_error: backfillErrorOf(row),
    records_rejected: row.records_rejected,
    records_by_backfills: row.records_by_backfills,
    delivered_until: row.delivered_until,
    open_runs: row.open_runs,
    next_due_at: next_run?.due_at ?? null,
    pause_detail: row.pause_reason?.detail ?? null,
  };
}

/**
 * Returns when a failed delivery is tried again: by the waiting run, else by the next planned one.
 */
function nextTryOf(
  { code, retrying, open_intervals }: OverviewRow,
  next_run: ExportOverview['next_run'],
): Pick<StateFacts, 'next_try_at' | 'is_trying'> {
  if (retrying !== null)
    return { next_try_at: retrying.next_try_at, is_trying: retrying.next_try_at === null };
  if (code !== 'failing') return { next_try_at: null, is_trying: false };
  const is_trying = open_intervals > 0;
  return { next_try_at: is_trying ? null : (next_run?.due_at ?? null), is_trying };
}

/**
 * Returns why a backfill failed; for a failing export, the latest error is the error of its
 * schedule.
 */
function backfillErrorOf({ code, backfill_failed_since, latest_error }: OverviewRow) {
  if (backfill_failed_since === null) return null;
  return code === 'failing' || latest_error === null ? 'Its run says why.' : latest_error;
}

/** Counts the intervals that are due and not delivered, and their rows if all were counted. */
function waitingOf(
  row: OverviewRow,
  next_run: ExportOverview['next_run'],
  { failed, now }: Beside,
): Pick<StateFacts, 'intervals' | 'rows_waiting'> {
  const late_ms = next_run === null ? -1 : now - Date.parse(next_run.due_at);
  const unplanned = late_ms < 0 ? 0 : 1 + Math.floor(late_ms / nominalLength(row.interval));
  const intervals = failed.intervals + row.open_intervals + unplanned;
  const rows = [failed.rows, row.open_intervals === 0 ? 0 : row.open_rows];
  const known = unplanned === 0 ? rows.flatMap((count) => count ?? []) : [];
  const isKnown = known.length === rows.length;
  return { intervals, rows_waiting: isKnown ? known.reduce((sum, one) => sum + one, 0) : null };
}

function causeOf(row: OverviewRow, failed_interval: FailedInterval | null): string | null {
  const { code, retrying, latest_error, pause_reason } = row;
  switch (code) {
    case 'failing':
      return retrying?.latest_error ?? latest_error;
    case 'paused_automatically':
      return pause_reason?.detail ?? null;
    default:
      return retrying?.latest_error ?? failed_interval?.latest_error ?? latest_error;
  }
}

/**
 * Returns the time of a change after which no attempt has ended. Without a failure there is nothing
 * to try.
 */
function changedAt({ code, delivery_changed_at, retrying, failed_at }: OverviewRow): string | null {
  if (delivery_changed_at === null || (code !== 'failing' && code !== 'retrying')) return null;
  const tried = [retrying?.tried_at, failed_at].flatMap((at) => at ?? []).map(Date.parse);
  return Date.parse(delivery_changed_at) > Math.max(...tried) ? delivery_changed_at : null;
}
