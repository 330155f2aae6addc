import sql from 'sql-template-tag';
import { Temporal } from 'temporal-polyfill';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import type { Interval } from '../interval.ts';
import { newHealth } from './health.ts';
import type { Health } from './health.ts';
import { compared_runs_max } from './volume.ts';

/** How far back runs are looked for that compare with a run: far enough for 30 weekly ones. */
const compared_days_max = 217;
const half_day_seconds = 12 * 3600;

/** The health of an export; one that nothing was stored of is well. The caller holds the lock on the export's row, taken by an earlier statement. */
export async function getHealth(tx: Transaction, exportId: string, revision: number): Promise<Health> {
  const row = await tx.row<Health>(sql`
    SELECT revision, consecutive_failures, is_failing, is_late, is_volume_unusual, delivered_until FROM batch_export_health WHERE batch_export_id = ${exportId}`);
  return row ?? newHealth(revision);
}

/** Stores the health of an export under the caller's lock. */
export async function putHealth(tx: Transaction, exportId: string, health: Health): Promise<void> {
  const { revision, consecutive_failures, is_failing, is_late, is_volume_unusual, delivered_until } = health;
  await tx.run(sql`
    INSERT INTO batch_export_health (batch_export_id, revision, consecutive_failures, is_failing, is_late, is_volume_unusual, delivered_until)
    VALUES (${exportId}, ${revision}, ${consecutive_failures}, ${is_failing}, ${is_late}, ${is_volume_unusual}, ${delivered_until})
    ON CONFLICT (batch_export_id) DO UPDATE SET revision = excluded.revision, consecutive_failures = excluded.consecutive_failures, is_failing = excluded.is_failing,
      is_late = excluded.is_late, is_volume_unusual = excluded.is_volume_unusual, delivered_until = excluded.delivered_until`);
}

/** Lets the count of failures in a row begin anew, so that an export that was unpaused is not paused again by its first failure. The caller holds the lock on the export's row. */
export async function forgetFailures(tx: Transaction, exportId: string): Promise<void> {
  await tx.run(sql`UPDATE batch_export_health SET consecutive_failures = 0 WHERE batch_export_id = ${exportId}`);
}

/** The scheduled run whose like is looked for. */
type ComparedRun = { batch_export_id: string; revision: number; data_interval_start: string; interval: Interval; timezone: string };

/**
 * The rows of the latest completed scheduled runs of the same revision that compare with the run, newest first, 30 at most. Workdays compare with workdays and weekends with weekends; rhythms shorter
 * than a day also only with the same hour; weeks with all weeks. Hours and days are those that the export's time zone has with its offset at the run.
 */
export async function listComparableRows(db: Queryable, run: ComparedRun): Promise<number[]> {
  const { batch_export_id, revision, data_interval_start: start, interval } = run;
  const [hasDays, hasHours] = [interval !== 'week', interval !== 'week' && interval !== 'day'];
  // A day is known by its noon: its midnight lies in the day before with the offset of the other half of the year.
  const offset_seconds = offsetSeconds(run.timezone, start) + (interval === 'day' ? half_day_seconds : 0);
  // Leans on batch_export_runs_by_interval, read from the newest on until there are enough.
  const rows = await db.rows<{ records: number }>(sql`
    SELECT coalesce(r.records_completed, 0) AS records FROM batch_export_runs r
    CROSS JOIN LATERAL (SELECT r.data_interval_start + make_interval(secs => ${offset_seconds}) AS its, ${start}::timestamptz + make_interval(secs => ${offset_seconds}) AS own) local
    WHERE r.batch_export_id = ${batch_export_id} AND r.revision = ${revision} AND r.status = 'Completed' AND r.backfill_id IS NULL AND r.id = r.delivery_id
      AND r.data_interval_start < ${start}::timestamptz AND r.data_interval_start > ${start}::timestamptz - make_interval(days => ${compared_days_max})
      AND (NOT ${hasDays}::boolean OR (extract(isodow FROM its) >= 6) = (extract(isodow FROM own) >= 6))
      AND (NOT ${hasHours}::boolean OR extract(hour FROM its) = extract(hour FROM own))
    ORDER BY r.data_interval_start DESC LIMIT ${compared_runs_max}`);
  return rows.map((row) => row.records);
}

/** By our own zone data: the control store may not know every zone that a project can have. */
function offsetSeconds(timezone: string, instant: string): number {
  return Temporal.Instant.from(instant).toZonedDateTimeISO(timezone).offsetNanoseconds / 1_000_000_000;
}
