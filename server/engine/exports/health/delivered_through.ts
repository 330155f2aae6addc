import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Engine } from '../engine.ts';
import { intervals } from '../planning/interval.ts';
import type { Interval } from '../planning/interval.ts';
import { findFailedIntervals } from './failed_intervals.ts';

/** Most exports with failed intervals whose earliest one is looked up. */
const incomplete_exports_max = 1_000;

/**
 * SQL over open runs `r` of an export: the earliest insertion that they deliver. For a selection
 * without a beginning, only the interval of a scheduled run counts: the other rows were inserted
 * before the schedule began.
 */
export const open_from: Sql = sql`min(least(
  CASE WHEN r.backfill_id IS NULL AND r.replaces IS NULL AND NOT r.is_make_up
    THEN r.data_interval_start END,
  CASE WHEN r.replaces IS NULL THEN (
    SELECT to_timestamp(min((side ->> 'inserted_from')::float8) / 1000)
    FROM jsonb_array_elements(r.selection) side) END))`;

/**
 * Sets the metric that shows, for each interval, up to when all of its active exports have
 * delivered everything. An export without a delivery counts from its first interval.
 */
export async function noteDeliveredThrough(engine: Engine): Promise<void> {
  const through = new Map<Interval, number>();
  const note = (interval: Interval, at: string | null) => {
    if (at !== null)
      through.set(interval, Math.min(through.get(interval) ?? Infinity, Date.parse(at)));
  };
  // Reads the open runs of all exports once, by batch_export_runs_taken.
  const rows = await engine.db.rows<{ interval: Interval; at: string | null }>(sql`
    SELECT e."interval", min(least(coalesce(h.delivered_until, e.planned_until), open.at)) AS at
    FROM batch_exports e LEFT JOIN batch_export_health h ON h.batch_export_id = e.id
    LEFT JOIN (SELECT r.batch_export_id, r.revision, ${open_from} AS at FROM batch_export_runs r
      WHERE r.status IN ('Starting', 'Running') GROUP BY 1, 2) open
      ON open.batch_export_id = e.id AND open.revision = e.revision
    WHERE ${is_active} GROUP BY 1`);
  for (const { interval, at } of rows) note(interval, at);
  const incomplete = await engine.db.rows<{ id: string; revision: number; interval: Interval }>(sql`
    SELECT e.id, e.revision, e."interval" FROM batch_exports e
    JOIN batch_export_health h ON h.batch_export_id = e.id AND h.revision = e.revision
    WHERE ${is_active} AND h.is_incomplete ORDER BY h.incomplete_since, e.id
    LIMIT ${incomplete_exports_max}`);
  const failed = await findFailedIntervals(engine.db, incomplete);
  for (const { id, interval } of incomplete)
    note(interval, failed.get(id)?.data_interval_start ?? null);
  const gauge = engine.metrics.export_delivered_through_seconds;
  for (const interval of intervals) {
    const at = through.get(interval);
    if (at === undefined) gauge.remove({ interval });
    else gauge.set({ interval }, at / 1000);
  }
}

const is_active = sql`e.deleted_at IS NULL AND NOT e.paused AND e.next_run_at IS NOT NULL`;
