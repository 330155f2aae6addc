import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { isoInstant } from '../../../platform/clock.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { findDestination } from '../../destinations/index.ts';
import { boundaryAfter, boundaryAtOrBefore } from './interval.ts';
import type { Rhythm } from './interval.ts';
import { toStored } from '../../model/ledger/rectangles.ts';
import type { Rectangle } from '../../model/ledger/rectangles.ts';
import type { ReplacedReceipt } from '../../model/run.ts';

/**
 * The state of planning: everything before `planned_until` is planned. The next run covers
 * [planned_until, next_run_at); null: there is none.
 */
export type Schedule = { planned_until: number; next_run_at: number | null };

/**
 * Returns the first scheduled run of an export: it covers the interval of the later of `now` and
 * `start_at`. Null if that run would end after `end_at`.
 */
export function firstSchedule(
  rhythm: Rhythm & { start_at: number | null; end_at: number | null },
  now: number,
): Schedule {
  const from = Math.max(now, rhythm.start_at ?? -Infinity);
  const planned_until = boundaryAtOrBefore(rhythm, from);
  return {
    planned_until,
    next_run_at: notAfter(boundaryAfter(rhythm, from), rhythm.end_at),
  };
}

/**
 * Returns the next scheduled run. It never leaves a gap, even if the interval was changed
 * meanwhile.
 */
export function nextSchedule(
  rhythm: Rhythm & { end_at: number | null },
  plannedUntil: number,
): number | null {
  return notAfter(boundaryAfter(rhythm, plannedUntil), rhythm.end_at);
}

/**
 * Returns the schedule that plans again from the earliest given start of a scheduled run that will
 * not be delivered.
 */
export function rewound(
  schedule: Schedule,
  rhythm: Rhythm & { end_at: number | null },
  starts: number[],
): Schedule {
  const planned_until = Math.min(schedule.planned_until, ...starts);
  return { planned_until, next_run_at: nextSchedule(rhythm, planned_until) };
}

function notAfter(boundary: number, end: number | null): number | null {
  return end !== null && boundary > end ? null : boundary;
}

/**
 * A run to plan. Without a `delivery_id`, its delivery has the run's own id, by which a schedule
 * finds its run of an interval. A run that replaces a backfill's run (`is_make_up`) has a new one.
 */
export type PlannedRun = {
  export: { id: string; revision: number };
  backfill_id: string | null;
  /** The data interval in milliseconds. */
  from: number;
  to: number;
  selection: Rectangle[];
  delivery_id?: string;
  is_make_up?: boolean;
  /** True if it is known to have few rows. */
  is_small?: boolean;
  /** Seconds before a worker may claim it without an earlier count. */
  look_seconds?: number;
  /** True if a count found rows, or if its end must be reported. */
  needs_worker?: boolean;
  /** See `ClaimedRun`; needs a worker even without rows. */
  replaces?: ReplacedReceipt;
};

/** Writes one run like `insertRuns`; undefined if it exists already. */
export async function insertRun(tx: Transaction, run: PlannedRun): Promise<string | undefined> {
  return (await insertRuns(tx, [run]))[0];
}

/**
 * Writes planned runs, which then wait for a worker, in the caller's transaction, and returns the
 * ids of the new ones in order. Skips a scheduled run whose interval already has one.
 */
export async function insertRuns(tx: Transaction, runs: PlannedRun[]): Promise<string[]> {
  const hosts = await hostsOf(tx, [...new Set(runs.map((run) => run.export.id))]);
  const rows = runs.map((run) => {
    const id = uuidv7();
    return {
      id,
      batch_export_id: run.export.id,
      revision: run.export.revision,
      host: hosts.get(run.export.id) ?? null,
      backfill_id: run.backfill_id,
      delivery_id: run.delivery_id ?? (run.is_make_up === true ? uuidv7() : id),
      is_make_up: run.is_make_up ?? false,
      is_small: run.is_small ?? false,
      data_interval_start: isoInstant(run.from),
      data_interval_end: isoInstant(run.to),
      selection: toStored(run.selection),
      look_seconds: run.look_seconds ?? 0,
      needs_worker: run.needs_worker === true || run.replaces !== undefined,
      replaces: run.replaces ?? null,
    };
  });
  const inserted = await tx.rows<{ id: string }>(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, host, revision, backfill_id,
      delivery_id, is_make_up, is_small, data_interval_start, data_interval_end, selection, due_at,
      replaces, needs_worker)
    SELECT planned.id, export.id, export.team_id, planned.host, planned.revision,
      planned.backfill_id, planned.delivery_id, planned.is_make_up, planned.is_small,
      planned.data_interval_start, planned.data_interval_end, planned.selection,
      now() + make_interval(secs => planned.look_seconds), planned.replaces,
      planned.needs_worker
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS planned (id uuid,
      batch_export_id uuid, revision int, host text, backfill_id uuid, delivery_id uuid,
      is_make_up boolean, is_small boolean, data_interval_start timestamptz,
      data_interval_end timestamptz, selection jsonb, look_seconds float8, needs_worker boolean,
      replaces jsonb)
    JOIN batch_exports export ON export.id = planned.batch_export_id
    ON CONFLICT DO NOTHING RETURNING id`);
  const isNew = new Set(inserted.map(({ id }) => id));
  return rows.map(({ id }) => id).filter((id) => isNew.has(id));
}

/**
 * Returns the hosts of the exports' runs if the number of runs per host is limited. The host is
 * part of the revision, so it stays the same for the life of a run.
 */
async function hostsOf(tx: Transaction, exportIds: string[]): Promise<Map<string, string>> {
  const rows = await tx.rows<{
    id: string;
    destination_type: string;
    destination_config: Record<string, unknown> | null;
  }>(sql`
    SELECT id, destination_type, destination_config FROM batch_exports
      WHERE id = ANY (${exportIds}::uuid[])`);
  const hosts = new Map<string, string>();
  for (const row of rows) {
    const host = hostOf(row);
    if (host !== undefined) hosts.set(row.id, host);
  }
  return hosts;
}

/** Returns the host of runs to a destination if the number of runs per host is limited. */
export function hostOf({
  destination_type,
  destination_config,
}: {
  destination_type: string;
  destination_config: Record<string, unknown> | null;
}): string | undefined {
  const host = findDestination(destination_type)?.host?.(destination_config ?? {});
  return host?.toLowerCase();
}
