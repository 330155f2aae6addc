import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { isDatabaseError } from '../../platform/postgres/database.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { databaseInstant } from '../../platform/postgres/instant.ts';
import { takenOf } from '../ledger/ledger.ts';
import { findDestination } from '../destinations/index.ts';
import type { Engine } from '../engine.ts';
import { settled } from '../ingest/lock.ts';
import { boundaryAfter, boundaryAtOrBefore } from './interval.ts';
import type { Interval } from './interval.ts';
import { subtract, toStored } from '../ledger/rectangles.ts';
import type { Rectangle } from '../ledger/rectangles.ts';
import type { ReplacedReceipt } from '../run.ts';

/**
 * How many due exports of one project one transaction plans: few enough that its locks are short,
 * many enough that thousands are planned in seconds.
 */
const exports_per_turn_max = 500;
const teams_per_turn_max = 500;
/**
 * How many projects are planned at a time: the waiting for one goes on beside the work for the
 * others.
 */
const teams_at_once_max = 4;
/** How long planning waits for the ingestion of a project before it turns to the next one. */
const lock_seconds_max = 5;
/**
 * So long a run that the schedule has planned waits to be looked at together with others
 * (`quiet_runs.ts`), which is a matter of milliseconds, before a worker takes it all the same.
 */
const look_seconds_max = 5;

type DueExport = {
  id: string;
  team_id: number;
  revision: number;
  interval: Interval;
  timezone: string;
  planned_until: string;
  next_run_at: string;
  end_at: string | null;
};

/**
 * The first scheduled run of an export: it covers the interval in which the later of `now` and
 * `start_at` lies. Null once that run would end after `end_at`.
 */
export function firstSchedule(
  rhythm: { interval: Interval; timezone: string; start_at: number | null; end_at: number | null },
  now: number,
): { planned_until: number; next_run_at: number | null } {
  const from = Math.max(now, rhythm.start_at ?? -Infinity);
  const planned_until = boundaryAtOrBefore(rhythm.interval, rhythm.timezone, from);
  return {
    planned_until,
    next_run_at: notAfter(boundaryAfter(rhythm.interval, rhythm.timezone, from), rhythm.end_at),
  };
}

/**
 * The scheduled run that follows what is planned already; it never leaves a gap, also when the
 * interval was changed in between.
 */
export function nextSchedule(
  rhythm: { interval: Interval; timezone: string; end_at: number | null },
  plannedUntil: number,
): number | null {
  return notAfter(boundaryAfter(rhythm.interval, rhythm.timezone, plannedUntil), rhythm.end_at);
}

function notAfter(boundary: number, end: number | null): number | null {
  return end !== null && boundary > end ? null : boundary;
}

/**
 * Plans the next run of every export whose interval has settled, project by project, those that
 * wait longest first; gives how many were planned. Guarantees: a run is planned once however many
 * processes call this; an export that is several intervals behind gets one run for each, in order,
 * over the following calls; an export or a project that cannot be planned does not keep the others
 * from it. `onPlanned` is told each time when runs of a project have been written.
 */
export async function planDueExports(
  engine: Engine,
  onPlanned: () => void = () => undefined,
): Promise<number> {
  const settledBefore = iso((await databaseInstant(engine.db)) - engine.settle_seconds * 1000);
  // At random among those that wait equally long, as all do when the hour turns: planners that go
  // through the projects in one order would wait for each other at each of them.
  const teams = await engine.db.rows<{ team_id: number; oldest: string }>(sql`
    SELECT team_id, min(next_run_at) AS oldest FROM batch_exports WHERE deleted_at IS NULL
      AND NOT paused AND next_run_at <= ${settledBefore}
    GROUP BY team_id ORDER BY oldest, random() LIMIT ${teams_per_turn_max}`);
  const oldest = teams[0]?.oldest;
  engine.metrics.planner_lag_seconds.set(
    oldest === undefined ? 0 : (Date.parse(settledBefore) - Date.parse(oldest)) / 1000,
  );
  let planned = 0;
  const waiting = teams.values();
  const planSome = async () => {
    for (const { team_id } of waiting) {
      const count = await planTeam(engine, team_id, settledBefore);
      planned += count;
      if (count > 0) onPlanned();
    }
  };
  await Promise.all(Array.from({ length: teams_at_once_max }, planSome));
  return planned;
}

async function planTeam(engine: Engine, teamId: number, settledBefore: string): Promise<number> {
  try {
    return await planExports(engine, teamId, settledBefore, null);
  } catch (error) {
    // No row is waited for, so a wait that was too long (SQLSTATE 55P03) was for ingestion, and
    // every export would wait for it as long.
    if (isDatabaseError(error) && error.code === '55P03') {
      engine.log.warn(
        { err: error, team_id: teamId },
        'the ingestion of a project keeps its exports from being planned; they are tried again',
      );
      return 0;
    }
    engine.log.warn(
      { err: error, team_id: teamId },
      'the exports of a project could not be planned together; they are planned one by one',
    );
  }
  const ids = await engine.db.rows<{ id: string }>(sql`
    SELECT id FROM batch_exports WHERE team_id = ${teamId} AND deleted_at IS NULL AND NOT paused
      AND next_run_at <= ${settledBefore} ORDER BY next_run_at LIMIT ${exports_per_turn_max}`);
  let planned = 0;
  for (const { id } of ids) {
    try {
      planned += await planExports(engine, teamId, settledBefore, id);
    } catch (error) {
      engine.log.error(
        { err: error, batch_export_id: id },
        'an export could not be planned; it is tried again',
      );
    }
  }
  return planned;
}

async function planExports(
  engine: Engine,
  teamId: number,
  settledBefore: string,
  only: string | null,
): Promise<number> {
  return engine.db.transaction(async (tx) => {
    await tx.text(`SET LOCAL lock_timeout = '${lock_seconds_max}s'`);
    // Waits for ingestion before it locks a row: who holds rows while it waits would keep everybody
    // waiting who wants them.
    const final = await settled(tx, teamId);
    // FOR UPDATE SKIP LOCKED: planners share the work; the partial index batch_exports_due gives
    // the oldest first. What is not final yet stays due.
    const due = await tx.rows<DueExport>(sql`
      SELECT id, team_id, revision, "interval", timezone, planned_until, next_run_at, end_at
        FROM batch_exports
      WHERE team_id = ${teamId} AND deleted_at IS NULL AND NOT paused
        AND next_run_at <= least(${settledBefore}::timestamptz, ${final}::timestamptz)
        AND (${only}::uuid IS NULL OR id = ${only})
      ORDER BY next_run_at LIMIT ${exports_per_turn_max} FOR UPDATE SKIP LOCKED`);
    if (due.length > 0) await planScheduledRuns(tx, due);
    return due.length;
  });
}

async function planScheduledRuns(tx: Transaction, due: DueExport[]): Promise<void> {
  const wanted = due.map((item) => {
    const [from, to] = [Date.parse(item.planned_until), Date.parse(item.next_run_at)];
    const inserted = { inserted_from: from, inserted_to: to };
    const within = [{ event_from: -Infinity, event_to: Infinity, ...inserted }];
    return { ...item, from, to, within };
  });
  const taken = await takenOf(tx, wanted);
  const planned = wanted.map(({ within, from, to, ...item }) => ({
    export: item,
    backfill_id: null,
    from,
    to,
    selection: subtract(within, taken.get(item.id) ?? []),
    look_seconds: look_seconds_max,
  }));
  await insertRuns(tx, planned);
  const next = due.map(({ interval, timezone, end_at, next_run_at }) =>
    nextSchedule(
      { interval, timezone, end_at: end_at === null ? null : Date.parse(end_at) },
      Date.parse(next_run_at),
    ),
  );
  await tx.run(sql`
    UPDATE batch_exports SET planned_until = batch_exports.next_run_at,
      next_run_at = planned.next_run_at
    FROM unnest(${due.map(({ id }) => id)}::uuid[],
      ${next.map((at) => (at === null ? null : iso(at)))}::timestamptz[]) AS planned (id,
      next_run_at)
    WHERE batch_exports.id = planned.id`);
}

/**
 * A run as it is planned. Without a `delivery_id` its delivery bears its own id, by which a
 * schedule knows its run of an interval; one that makes up for a backfill's run (`is_make_up`)
 * bears a fresh one.
 */
export type PlannedRun = {
  export: { id: string; revision: number };
  backfill_id: string | null;
  /** The data interval, milliseconds. */
  from: number;
  to: number;
  selection: Rectangle[];
  delivery_id?: string;
  is_make_up?: boolean;
  /** It is known to have few rows. */
  is_small?: boolean;
  /** No worker takes it before so many seconds are over, unless it was looked at before. */
  look_seconds?: number;
  /** See `ClaimedRun`; a worker is needed, also without rows. */
  replaces?: ReplacedReceipt;
};

/** Writes one run as `insertRuns` does; undefined when it was there already. */
export async function insertRun(tx: Transaction, run: PlannedRun): Promise<string | undefined> {
  return (await insertRuns(tx, [run]))[0];
}

/**
 * Writes planned runs, which then wait for a worker, in the caller's transaction, and gives the ids
 * of those that are new, in order. A scheduled run that exists already for its interval is left
 * alone.
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
      data_interval_start: iso(run.from),
      data_interval_end: iso(run.to),
      selection: toStored(run.selection),
      look_seconds: run.look_seconds ?? 0,
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
      planned.replaces IS NOT NULL
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS planned (id uuid,
      batch_export_id uuid, revision int, host text, backfill_id uuid, delivery_id uuid,
      is_make_up boolean, is_small boolean, data_interval_start timestamptz,
      data_interval_end timestamptz, selection jsonb, look_seconds float8, replaces jsonb)
    JOIN batch_exports export ON export.id = planned.batch_export_id
    ON CONFLICT DO NOTHING RETURNING id`);
  const isNew = new Set(inserted.map(({ id }) => id));
  return rows.map(({ id }) => id).filter((id) => isNew.has(id));
}

/**
 * Where runs of the exports are going, as far as their number is bounded there. It is a part of the
 * revision, so it holds for the whole life of a run.
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
  for (const { id, destination_type, destination_config } of rows) {
    const host = findDestination(destination_type)?.host?.(destination_config ?? {});
    if (host !== undefined) hosts.set(id, host.toLowerCase());
  }
  return hosts;
}

function iso(instant: number): string {
  return new Date(instant).toISOString();
}
