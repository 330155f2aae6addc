import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { MetricPoint, metric_intervals } from './schema.ts';
import { run_kind } from '../runs/fields.ts';

/**
 * Which points are wanted: the half-open range by planning, what a point is, and how many at most.
 */
export type MetricsWanted = {
  after: string;
  before: string;
  interval: (typeof metric_intervals)[number];
  limit: number;
};

const starts: Record<MetricsWanted['interval'], Sql> = {
  run: sql`r.created_at`,
  hour: sql`date_trunc('hour', r.created_at)`,
  day: sql`date_trunc('day', r.created_at)`,
};

const duration = sql`extract(epoch FROM r.finished_at - r.started_at)::float8`;
const lag = sql`extract(epoch FROM r.finished_at - r.data_interval_end)::float8`;
const is_completed = sql`r.status = 'Completed'`;
/**
 * Backfills, and what makes up for them, deliver what was inserted long before, which says nothing
 * of the schedule.
 */
const has_lag = sql`${is_completed} AND ${run_kind} = 'scheduled'`;
const count = (condition: Sql) => sql`count(*) FILTER (WHERE ${condition})`;

/**
 * The points of an export's chart, oldest first, those of one time in the order of `run_kinds`.
 * Leans on batch_export_runs_by_export.
 */
export function listMetricPoints(
  db: Queryable,
  exportId: string,
  { after, before, interval, limit }: MetricsWanted,
): Promise<MetricPoint[]> {
  const run = interval === 'run' ? sql`r.id` : sql`NULL::uuid`;
  return db.rows<MetricPoint>(sql`
    SELECT ${starts[interval]} AS start_at, ${run_kind} AS kind, ${run} AS run,
      max(r.data_interval_end) AS data_interval_end,
      json_build_object('completed', ${count(is_completed)}, 'failed',
        ${count(sql`r.status IN
        ('Failed', 'FailedRetryable', 'TimedOut', 'Terminated')`)},
        'cancelled', ${count(sql`r.status =
          'Cancelled'`)}, 'open',
          ${count(sql`r.status IN
          ('Starting', 'Running')`)}) AS runs,
      coalesce(sum(r.records_completed) FILTER (WHERE ${is_completed}), 0)::bigint AS rows,
        coalesce(sum(r.bytes_completed) FILTER (WHERE ${is_completed}), 0)::bigint AS bytes,
      avg(${duration}) AS duration_seconds, max(${duration}) AS duration_seconds_max,
      avg(${lag}) FILTER (WHERE ${has_lag}) AS lag_seconds,
        max(${lag}) FILTER (WHERE ${has_lag}) AS lag_seconds_max
    FROM batch_export_runs r WHERE r.batch_export_id = ${exportId}
      AND r.created_at >= ${after}::timestamptz AND r.created_at < ${before}::timestamptz
    GROUP BY 1, 2, 3 ORDER BY 1, 2 DESC, 3 LIMIT ${limit}`);
}
