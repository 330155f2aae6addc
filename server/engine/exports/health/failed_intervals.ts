import sql from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { deliveredOf } from '../../model/ledger/ledger.ts';
import { coveredSpans, multirangeText } from '../../model/ledger/spans.ts';
import type { Span } from '../../model/ledger/spans.ts';

/**
 * An interval of a schedule whose run finally failed, with the latest such run (instants in ISO
 * 8601). `retry_run_id`: the waiting or running retry.
 */
export type FailedInterval = {
  run_id: string;
  data_interval_start: string;
  data_interval_end: string;
  finished_at: string | null;
  latest_error: string | null;
  retry_run_id: string | null;
};

type Failed = FailedInterval & { id: string; revision: number };

/**
 * For each export, finds the earliest scheduled interval in the current revision whose run finally
 * failed and that no retry or backfill has delivered since. Omits exports without one.
 */
export async function findFailedIntervals(
  db: Queryable,
  exports: { id: string; revision: number }[],
): Promise<Map<string, FailedInterval>> {
  const found = new Map<string, FailedInterval>();
  let wanted = exports.map(({ id, revision }) => ({ id, revision, from: '-infinity' }));
  // One more round for each stretch of failed intervals that were delivered later.
  while (wanted.length > 0) {
    const failed = await listEarliest(db, wanted);
    if (failed.length === 0) return found;
    const delivered = await deliveredOf(db, failed.map(withSpan));
    wanted = failed.flatMap(({ id, revision, ...interval }) => {
      const { from, to } = spanOf(interval);
      const span = coveredSpans(delivered.get(id) ?? []).find(
        (one) => one.from <= from && one.to >= to,
      );
      if (span === undefined) found.set(id, interval);
      return span === undefined || span.to === Infinity
        ? []
        : [{ id, revision, from: isoInstant(span.to) }];
    });
  }
  return found;
}

function spanOf({ data_interval_start, data_interval_end }: FailedInterval): Span {
  return { from: Date.parse(data_interval_start), to: Date.parse(data_interval_end) };
}

/**
 * Returns the part of the export's ledger to read: of a long ledger, only the part near the
 * interval.
 */
function withSpan(failed: Failed) {
  const { from, to } = spanOf(failed);
  const area = {
    event_from: -Infinity,
    event_to: Infinity,
    inserted_from: from,
    inserted_to: to,
  };
  return { id: failed.id, revision: failed.revision, within: [area] };
}

/** Most failed intervals of an export that are counted. */
const counted_intervals_max = 10_000;

/** Failed intervals without a current retry, and their rows; null: not all were counted. */
export type FailedCount = { intervals: number; rows: number | null };

/**
 * Counts the intervals that `findFailedIntervals` would find one after another, without those in
 * retry.
 */
export async function countFailedIntervals(
  db: Queryable,
  exports: { id: string; revision: number; earliest: FailedInterval }[],
): Promise<Map<string, FailedCount>> {
  if (exports.length === 0) return new Map();
  const wanted = exports.map(({ id, revision, earliest }) => ({
    id,
    revision,
    from: earliest.data_interval_start,
  }));
  const delivered = await deliveredOf(
    db,
    exports.map(({ id, revision, earliest }) => {
      const { within } = withSpan({ ...earliest, id, revision });
      return { id, revision, within: within.map((area) => ({ ...area, inserted_to: Infinity })) };
    }),
  );
  const covered = wanted.map(({ id }) => multirangeText(coveredSpans(delivered.get(id) ?? [])));
  const rows = await db.rows<FailedCount & { id: string }>(sql`
    WITH wanted AS MATERIALIZED (
      SELECT id, revision, from_at, covered::tstzmultirange AS covered
      FROM unnest(${wanted.map(({ id }) => id)}::uuid[],
        ${wanted.map(({ revision }) => revision)}::int[],
        ${wanted.map(({ from }) => from)}::timestamptz[], ${covered}::text[])
        AS wanted (id, revision, from_at, covered))
    SELECT wanted.id, count(*) AS intervals,
      CASE WHEN bool_and(failed.rows IS NOT NULL) THEN sum(failed.rows)::bigint END AS rows
    FROM wanted CROSS JOIN LATERAL (
      SELECT DISTINCT ON (r.data_interval_start, r.data_interval_end) r.records_total_count AS rows
      FROM batch_export_runs r
      WHERE ${is_failed} AND r.data_interval_start >= wanted.from_at
        AND NOT tstzrange(r.data_interval_start, r.data_interval_end) <@ wanted.covered
        AND NOT EXISTS (SELECT FROM batch_export_runs other WHERE ${is_same_interval}
          AND other.status IN ('Completed', 'Starting', 'Running'))
      ORDER BY r.data_interval_start, r.data_interval_end, r.created_at DESC
      LIMIT ${counted_intervals_max}) failed
    GROUP BY wanted.id`);
  return new Map(rows.map(({ id, ...count }) => [id, count]));
}

const is_failed = sql`r.batch_export_id = wanted.id AND r.revision = wanted.revision
  AND r.status IN ('Failed', 'FailedRetryable', 'TimedOut', 'Terminated')
  AND r.backfill_id IS NULL AND NOT r.is_make_up AND r.replaces IS NULL`;

const is_same_interval = sql`other.batch_export_id = r.batch_export_id
  AND other.revision = r.revision AND other.data_interval_start = r.data_interval_start
  AND other.data_interval_end = r.data_interval_end`;

/**
 * Finds each export's earliest failed interval from `from` on, by the index
 * batch_export_runs_failed.
 */
function listEarliest(
  db: Queryable,
  wanted: { id: string; revision: number; from: string }[],
): Promise<Failed[]> {
  return db.rows<Failed>(sql`
    SELECT wanted.id, wanted.revision, failed.* FROM unnest(${wanted.map(({ id }) => id)}::uuid[],
        ${wanted.map(({ revision }) => revision)}::int[],
        ${wanted.map(({ from }) => from)}::timestamptz[]) AS wanted (id, revision, from_at)
    CROSS JOIN LATERAL (
      SELECT r.id AS run_id, r.data_interval_start, r.data_interval_end, r.finished_at,
        r.latest_error,
        (SELECT other.id FROM batch_export_runs other WHERE ${is_same_interval}
          AND other.status IN ('Starting', 'Running') LIMIT 1) AS retry_run_id
      FROM batch_export_runs r
      WHERE ${is_failed} AND r.data_interval_start >= wanted.from_at
        AND NOT EXISTS (SELECT FROM batch_export_runs other
          WHERE ${is_same_interval} AND other.status = 'Completed')
      ORDER BY r.data_interval_start, r.created_at DESC LIMIT 1) failed`);
}
