import sql, { empty } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { MetricPoint, metric_intervals, metric_times } from './schema.ts';
import { run_kind } from '../runs/fields.ts';

/** The requested points: half-open range, unit, clock, and most points. */
export type MetricsWanted = {
  after: string;
  before: string;
  interval: (typeof metric_intervals)[number];
  by: (typeof metric_times)[number];
  limit: number;
};

const times: Record<MetricsWanted['by'], Sql> = {
  created_at: sql`r.created_at`,
  data_interval_start: sql`r.data_interval_start`,
};

type Unit = { name: Sql; length: Sql };
const units: Record<Exclude<MetricsWanted['interval'], 'run'>, Unit> = {
  hour: { name: sql`'hour'`, length: sql`interval '1 hour'` },
  day: { name: sql`'day'`, length: sql`interval '1 day'` },
};

const duration = sql`date_part('epoch', r.finished_at - r.started_at)`;
const lag = sql`date_part('epoch', r.finished_at - r.data_interval_end)`;
const is_completed = sql`r.status = 'Completed'`;
/**
 * Backfills and `make_up` runs deliver rows that were ingested long before, so they have no lag.
 * The same holds for runs that repeat a delivery after an erasure.
 */
const has_lag = sql`${is_completed} AND ${run_kind} = 'scheduled' AND r.replaces IS NULL`;
/** Runs that repeat a delivery, such as after an erasure, deliver no new rows. */
const is_first = sql`${is_completed} AND r.replaces IS NULL`;
const count = (condition: Sql) => sql`count(*) FILTER (WHERE ${condition})`;

/**
 * Lists the points of an export's chart, oldest first, points of one time in the order of
 * `run_kinds`. If there are more times than `limit`, returns only the times and reads no run. Uses
 * batch_export_runs_by_export or batch_export_runs_by_interval.
 */
export function listMetricPoints(
  db: Queryable,
  exportId: string,
  wanted: MetricsWanted,
): Promise<MetricPoint[]> {
  const { interval, limit } = wanted;
  const at = times[wanted.by];
  const of_range = sql`r.batch_export_id = ${exportId}
    AND ${at} >= ${wanted.after}::timestamptz AND ${at} < ${wanted.before}::timestamptz`;
  const unit = interval === 'run' ? undefined : units[interval];
  const of_start =
    unit === undefined
      ? sql`r.id = start.run`
      : sql`${at} >= start.at AND ${at} < start.at + ${unit.length}`;
  return db.rows<MetricPoint>(sql`
    WITH RECURSIVE ${startsOf(at, of_range, unit)},
    start AS MATERIALIZED (SELECT at, run FROM found WHERE at IS NOT NULL LIMIT ${limit})
    SELECT start.at AS start_at, point.kind, start.run, point.data_interval_end, point.runs,
      point.rows, point.bytes, point.duration_seconds, point.duration_seconds_max,
      point.lag_seconds, point.lag_seconds_max
    FROM start LEFT JOIN LATERAL (
      SELECT ${run_kind} AS kind, max(r.data_interval_end) AS data_interval_end,
        json_build_object('completed', ${count(is_completed)},
          'failed', ${count(sql`r.status IN
            ('Failed', 'FailedRetryable', 'TimedOut', 'Terminated')`)},
          'cancelled', ${count(sql`r.status = 'Cancelled'`)},
          'open', ${count(sql`r.status IN ('Starting', 'Running')`)}) AS runs,
        coalesce(sum(r.records_completed) FILTER (WHERE ${is_first}), 0)::bigint AS rows,
        coalesce(sum(r.bytes_completed) FILTER (WHERE ${is_first}), 0)::bigint AS bytes,
        avg(${duration}) AS duration_seconds, max(${duration}) AS duration_seconds_max,
        avg(${lag}) FILTER (WHERE ${has_lag}) AS lag_seconds,
        max(${lag}) FILTER (WHERE ${has_lag}) AS lag_seconds_max
      FROM batch_export_runs r
      WHERE ${of_range} AND ${of_start} AND (SELECT count(*) FROM start) < ${limit}
      GROUP BY 1) point ON true
    ORDER BY 1, 2 DESC, 3 LIMIT ${limit}`);
}

/**
 * `found`: the times of points, read from the index alone. For hours and days it jumps to the first
 * run after the previous period, so the number of runs in a period does not matter. The last time
 * is null.
 */
function startsOf(at: Sql, of_range: Sql, unit: Unit | undefined): Sql {
  const in_order = sql`ORDER BY ${at}, r.id`;
  if (unit === undefined)
    return sql`found AS (SELECT ${at} AS at, r.id AS run FROM batch_export_runs r
      WHERE ${of_range} ${in_order})`;
  const first = (behind: Sql) => sql`(SELECT date_trunc(${unit.name}, ${at})
    FROM batch_export_runs r WHERE ${of_range} ${behind} ${in_order} LIMIT 1)`;
  return sql`found (at, run) AS (
    SELECT ${first(empty)}, NULL::uuid
    UNION ALL SELECT ${first(sql`AND ${at} >= found.at + ${unit.length}`)}, NULL
    FROM found WHERE found.at IS NOT NULL)`;
}
