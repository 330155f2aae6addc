import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { Temporal } from 'temporal-polyfill';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import type { Interval } from '../planning/interval.ts';
import { newHealth } from './health.ts';
import type { Health } from './health.ts';
import { compared_runs_max } from './volume.ts';

/** Days to search for comparable runs: enough for 30 weekly ones. */
const compared_days_max = 217;
const half_day_seconds = 12 * 3600;

/**
 * Returns the health of an export; without a stored one, it is healthy. The caller took the lock on
 * the export's row in an earlier statement.
 */
export async function getHealth(
  tx: Transaction,
  exportId: string,
  revision: number,
): Promise<Health> {
  const [health] = await listHealth(tx, [{ batch_export_id: exportId, revision }]);
  return health!;
}

/** Returns the health of exports in the given order, like `getHealth`. */
export async function listHealth(
  tx: Transaction,
  exports: { batch_export_id: string; revision: number }[],
): Promise<Health[]> {
  const rows = await tx.rows<Health & { batch_export_id: string }>(sql`
    SELECT batch_export_id, revision, consecutive_failures, is_failing, is_late, is_volume_unusual,
      is_incomplete, is_rejecting, backfill_failed_since IS NOT NULL AS lacks_backfilled,
      lacks_since IS NOT NULL AS lacks_earlier, delivered_until, oldest_row_seconds,
      newest_row_seconds FROM batch_export_health
    WHERE batch_export_id = ANY (${exports.map((one) => one.batch_export_id)}::uuid[])`);
  const known = new Map(rows.map(({ batch_export_id, ...health }) => [batch_export_id, health]));
  return exports.map(
    ({ batch_export_id, revision }) => known.get(batch_export_id) ?? newHealth(revision),
  );
}

/** Stores the health of an export under the caller's lock. */
export async function putHealth(tx: Transaction, exportId: string, health: Health): Promise<void> {
  await putHealths(tx, [{ batch_export_id: exportId, ...health }]);
}

/**
 * Stores the health of exports under the caller's locks. A state that begins now gets the time of
 * the run's end, a failure that of its first attempt; `lacks_earlier` stays.
 */
export async function putHealths(
  tx: Transaction,
  healths: (Health & { batch_export_id: string; run_id?: string })[],
): Promise<void> {
  const since = (is_so: Sql, known: Sql, begun = sql`now()`) =>
    sql`CASE WHEN ${is_so} THEN coalesce(${known}, ${begun}) END`;
  await tx.run(sql`
    INSERT INTO batch_export_health (batch_export_id, revision, consecutive_failures, is_failing,
      is_late, is_volume_unusual, is_incomplete, is_rejecting, delivered_until, failing_since,
      incomplete_since, unusual_since, rejecting_since, backfill_failed_since, oldest_row_seconds,
      newest_row_seconds)
    SELECT n.batch_export_id, n.revision, n.consecutive_failures, n.is_failing, n.is_late,
      n.is_volume_unusual, n.is_incomplete, n.is_rejecting, n.delivered_until,
      ${since(sql`n.is_failing`, sql`h.failing_since`, sql`coalesce(r.started_at, now())`)},
      ${since(sql`n.is_incomplete`, sql`h.incomplete_since`)},
      ${since(sql`n.is_volume_unusual`, sql`h.unusual_since`)},
      ${since(sql`n.is_rejecting`, sql`h.rejecting_since`)},
      ${since(sql`n.lacks_backfilled`, sql`h.backfill_failed_since`)}, n.oldest_row_seconds,
      n.newest_row_seconds
    FROM jsonb_to_recordset(${JSON.stringify(healths)}::jsonb) AS n (batch_export_id uuid,
      run_id uuid, revision int, consecutive_failures int, is_failing boolean, is_late boolean,
      is_volume_unusual boolean, is_incomplete boolean, is_rejecting boolean,
      lacks_backfilled boolean, delivered_until timestamptz, oldest_row_seconds float8,
      newest_row_seconds float8)
    LEFT JOIN batch_export_health h ON h.batch_export_id = n.batch_export_id
    LEFT JOIN batch_export_runs r ON n.is_failing AND r.id = n.run_id
    ON CONFLICT (batch_export_id) DO UPDATE SET revision = excluded.revision,
      consecutive_failures = excluded.consecutive_failures, is_failing = excluded.is_failing,
      is_late = excluded.is_late, is_volume_unusual = excluded.is_volume_unusual,
      is_incomplete = excluded.is_incomplete, is_rejecting = excluded.is_rejecting,
      delivered_until = excluded.delivered_until, failing_since = excluded.failing_since,
      incomplete_since = excluded.incomplete_since, unusual_since = excluded.unusual_since,
      rejecting_since = excluded.rejecting_since,
      backfill_failed_since = excluded.backfill_failed_since,
      oldest_row_seconds = excluded.oldest_row_seconds,
      newest_row_seconds = excluded.newest_row_seconds`);
}

/**
 * Resets the count of failures in a row, so that the first failure does not pause an unpaused
 * export again. The caller holds the lock on the export's row.
 */
export async function forgetFailures(tx: Transaction, exportId: string): Promise<void> {
  await tx.run(
    sql`UPDATE batch_export_health SET consecutive_failures = 0
      WHERE batch_export_id = ${exportId}`,
  );
}

/** The scheduled run to find comparable runs for. */
export type ComparedRun = {
  batch_export_id: string;
  revision: number;
  data_interval_start: string;
  interval: Interval;
  timezone: string;
};

/**
 * For each run, lists the row counts of the latest comparable completed scheduled runs of the same
 * revision, newest first, 30 at most. Workdays compare with workdays and weekends with weekends.
 * Intervals shorter than a day also need the same hour. Weeks compare with all weeks. Hours and
 * days follow the export's time zone with its offset at the run.
 */
export async function listComparableRows(db: Queryable, runs: ComparedRun[]): Promise<number[][]> {
  const compared = runs.map(
    ({ batch_export_id, revision, data_interval_start, interval, timezone }, number) => ({
      number,
      batch_export_id,
      revision,
      data_interval_start,
      has_days: interval !== 'week',
      has_hours: interval !== 'week' && interval !== 'day',
      // The noon identifies a day: with the offset of the other half of the year, its midnight lies
      // in the previous day.
      offset_seconds:
        offsetSeconds(timezone, data_interval_start) + (interval === 'day' ? half_day_seconds : 0),
    }),
  );
  // Uses batch_export_runs_compared, from the newest run until there are enough.
  const rows = await db.rows<{ records: number[] }>(sql`
    SELECT to_jsonb(ARRAY(
      SELECT coalesce(r.records_completed, 0) FROM batch_export_runs r
      CROSS JOIN LATERAL (SELECT r.data_interval_start + make_interval(secs => own.offset_seconds)
        AS its, own.data_interval_start + make_interval(secs => own.offset_seconds) AS own) local
      WHERE r.batch_export_id = own.batch_export_id AND r.revision = own.revision
        AND r.status = 'Completed' AND r.backfill_id IS NULL AND r.id = r.delivery_id
        AND r.data_interval_start < own.data_interval_start
          AND r.data_interval_start > own.data_interval_start - make_interval(days =>
          ${compared_days_max})
        AND (NOT own.has_days OR (extract(isodow FROM local.its) >= 6) = (extract(isodow
          FROM local.own) >= 6))
        AND (NOT own.has_hours OR extract(hour FROM local.its) = extract(hour FROM local.own))
      ORDER BY r.data_interval_start DESC LIMIT ${compared_runs_max})) AS records
    FROM jsonb_to_recordset(${JSON.stringify(compared)}::jsonb) AS own (number int,
      batch_export_id uuid, revision int, data_interval_start timestamptz, has_days boolean,
      has_hours boolean, offset_seconds float8)
    ORDER BY own.number`);
  return rows.map((row) => row.records);
}

/** Uses our own zone data: the control store may not know every zone of a project. */
function offsetSeconds(timezone: string, instant: string): number {
  return (
    Temporal.Instant.from(instant).toZonedDateTimeISO(timezone).offsetNanoseconds / 1_000_000_000
  );
}
