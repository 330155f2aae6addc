import sql, { empty } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { MetricPoint, metric_intervals, metric_times } from './schema.ts';
import { run_kind } from '../runs/fields.ts';

/** The wanted points: the half-open range, the unit and time of a point, the largest number. */
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
 * Backfills, and what makes up for them, deliver what was inserted long before, which says nothing
 * of the schedule. An erasure writes it once more.
 */
const has_lag = sql`${is_completed} AND ${run_kind} = 'scheduled' AND r.replaces IS NULL`;
/** Runs that write a delivery once more, as for an erasure, bring no new rows. */
const is_first = sql`${is_completed} AND r.replaces IS NULL`;
const count = (condition: Sql) => sql`count(*) FILTER (WHERE ${condition})`;

/**
 * Lists the points of an export's chart, oldest first, those of one time in the order of
 * `run_kinds`. If the times alone exceed `limit`, returns them without the rest and reads no run.
 * Uses batch_export_runs_by_export or batch_export_runs_by_interval.
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
 * `found`: the times of points, by the index alone. Those of hours and days are found by a look for
 * the first run behind the one before, so that it does not matter how many runs they have; the last
 * one is null.
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
