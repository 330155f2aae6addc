// Exports and runs in the form that planner and workers leave, planted by SQL for the benches of
// lists and slots.
import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../../server/platform/postgres/database.ts';
import { inBulk } from './bulk.ts';

/** The start of the first slot of a planted history. */
export const history_start = '2024-01-01T00:00:00Z';
const slot_ms = 300_000;

/** About the length of real receipts. */
const receipt = sql`repeat(md5(n::text), 12)`;
/** A new id for the row of number `n` and export `e`. */
const created = sql`LATERAL (SELECT gen_random_uuid() AS id WHERE (n, e.id) IS NOT NULL) made`;

/**
 * Gives a five-minute export a history of this many slots: every fortieth failed, and another
 * fortieth is missing. Adds this many runs of one backfill.
 */
export async function plantHistory(
  { deps: { db } }: { deps: { db: Database } },
  id: string,
  { slots, backfill_runs }: { slots: number; backfill_runs: number },
): Promise<void> {
  const from = history_start;
  const at = sql`${from}::timestamptz + n * interval '5 minutes'`;
  await db.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, status,
      data_interval_start, data_interval_end, selection, created_at, finished_at,
      records_total_count, records_completed, receipt)
    SELECT made.id, ${id}, e.team_id, 1, made.id,
      CASE WHEN n % 40 = 0 THEN 'Failed' ELSE 'Completed' END, ${at},
      ${at} + interval '5 minutes', '[]', ${at}, ${at}, 100, 100, ${receipt}
    FROM generate_series(0, ${slots - 1}::integer) n
      JOIN batch_exports e ON e.id = ${id} CROSS JOIN ${created} WHERE n % 40 <> 20`);
  const backfill = uuidv7();
  await db.run(sql`
    INSERT INTO batch_export_backfills (id, batch_export_id, revision, mode, start_at, end_at,
      watermark, next_start_at, total_runs, status, finished_at)
    VALUES (${backfill}, ${id}, 1, 'all', ${from}, ${from}, ${from}, ${from}, 1, 'Completed',
      now())`);
  await db.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, backfill_id,
      status, data_interval_start, data_interval_end, selection, created_at, finished_at,
      records_total_count, records_completed, receipt)
    SELECT made.id, ${id}, e.team_id, 1, made.id, ${backfill}, 'Completed', ${from}, ${from}, '[]',
      now(), now(), 100, 100, ${receipt}
    FROM generate_series(1, ${backfill_runs}::integer) n
      JOIN batch_exports e ON e.id = ${id} CROSS JOIN ${created}`);
  // The ledger has all slots except the failed and the missing ones.
  const start = Date.parse(from);
  const areas = Array.from({ length: slots / 20 }, (_, index) => ({
    event_from: null,
    event_to: null,
    inserted_from: start + (index * 20 + 1) * slot_ms,
    inserted_to: start + (index + 1) * 20 * slot_ms,
  }));
  await db.run(sql`INSERT INTO batch_export_ledgers (batch_export_id, revision, delivered)
    VALUES (${id}, 1, ${JSON.stringify(areas)})`);
  await db.run(sql`UPDATE batch_exports SET created_at = ${from},
    planned_until = ${from}::timestamptz + ${slots}::integer * interval '5 minutes'
      WHERE id = ${id}`);
}

/**
 * Copies the export, from number `from` up to `exports`, each copy with this many hourly runs.
 * Every tenth fails, every twentieth is paused, and another twentieth is late.
 */
export async function plantExports(
  { deps: { db } }: { deps: { db: Database } },
  id: string,
  { exports, runs_each, from = 1 }: { exports: number; runs_each: number; from?: number },
): Promise<void> {
  await db.run(sql`
    INSERT INTO batch_exports (id, team_id, name, model, destination_type, destination_config,
      "interval", timezone, paused, created_at, schedule_changed_at, planned_until, next_run_at)
    SELECT made.id, e.team_id, 'Planted export ' || n, e.model, e.destination_type,
      e.destination_config, 'hour', e.timezone, n % 20 = 3, e.created_at - n * interval '1 minute',
      e.created_at - interval '1 day', date_trunc('hour', now()),
      date_trunc('hour', now()) + interval '1 hour'
    FROM generate_series(${from}::integer, ${exports}::integer) n
      JOIN batch_exports e ON e.id = ${id} CROSS JOIN ${created}`);
  const number = sql`split_part(e.name, ' ', 3)::integer`;
  const planted = sql`e.name LIKE 'Planted export %' AND ${number} >= ${from}`;
  const runs = sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, status,
      data_interval_start, data_interval_end, selection, created_at, finished_at, latest_error,
      records_total_count, records_completed, receipt)
    SELECT made.id, e.id, e.team_id, 1, made.id, ended.status, ended.at - interval '1 hour',
      ended.at, '[]', ended.at, ended.at, CASE WHEN ended.status = 'Failed' THEN
        'The server refused the password.' END, 100 + n, 100 + n, ${receipt}
    -- Hour by hour, as runs come: those of one export lie far apart in the table.
    FROM generate_series(${runs_each - 1}::integer, 0, -1) n
      CROSS JOIN batch_exports e CROSS JOIN ${created}
      CROSS JOIN LATERAL (SELECT date_trunc('hour', now()) - n * interval '1 hour' AS at,
        CASE WHEN n = 0 AND ${number} % 10 = 7 THEN 'Failed' ELSE 'Completed' END AS status) ended
    WHERE ${planted}`;
  await inBulk(db, 'batch_export_runs', (tx) => tx.run(runs));
  await db.run(sql`
    INSERT INTO batch_export_health (batch_export_id, revision, delivered_until,
      consecutive_failures, is_failing, is_late, is_volume_unusual)
    SELECT e.id, 1, date_trunc('hour', now()) - CASE WHEN ${number} % 20 = 4
      THEN interval '5 hours' ELSE interval '1 hour' END, ${number} % 10 / 7 * 3,
      ${number} % 10 = 7, ${number} % 20 = 4, false
    -- The server locks the export before its health; another order would deadlock with it.
    FROM batch_exports e WHERE ${planted} FOR UPDATE
    -- A running server may have written the row already.
    ON CONFLICT (batch_export_id) DO UPDATE SET delivered_until = EXCLUDED.delivered_until,
      consecutive_failures = EXCLUDED.consecutive_failures, is_failing = EXCLUDED.is_failing,
      is_late = EXCLUDED.is_late`);
}
