import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../platform/postgres/database.ts';
import { databaseInstant } from '../platform/postgres/instant.ts';
import { undelivered } from './deliveries.ts';
import type { Engine } from './engine.ts';
import { settled } from './ingest/lock.ts';
import { boundaryAfter, boundaryAtOrBefore } from './interval.ts';
import type { Interval } from './interval.ts';
import { toStored } from './ledger.ts';
import type { Rectangle } from './ledger.ts';

/** How many due exports one transaction plans: few enough that its locks are short, many enough that thousands are planned in seconds. */
const exports_per_tick_max = 50;
const teams_per_tick_max = 500;
/** How long planning waits for the ingestion of a project before it turns to the next one. */
const lock_seconds_max = 5;

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

/** The first scheduled run of an export: it covers the interval in which the later of `now` and `start_at` lies. Null once that run would end after `end_at`. */
export function firstSchedule(
  rhythm: { interval: Interval; timezone: string; start_at: number | null; end_at: number | null },
  now: number,
): { planned_until: number; next_run_at: number | null } {
  const from = Math.max(now, rhythm.start_at ?? -Infinity);
  const planned_until = boundaryAtOrBefore(rhythm.interval, rhythm.timezone, from);
  return { planned_until, next_run_at: notAfter(boundaryAfter(rhythm.interval, rhythm.timezone, from), rhythm.end_at) };
}

/** The scheduled run that follows what is planned already; it never leaves a gap, also when the interval was changed in between. */
export function nextSchedule(rhythm: { interval: Interval; timezone: string; end_at: number | null }, plannedUntil: number): number | null {
  return notAfter(boundaryAfter(rhythm.interval, rhythm.timezone, plannedUntil), rhythm.end_at);
}

function notAfter(boundary: number, end: number | null): number | null {
  return end !== null && boundary > end ? null : boundary;
}

/**
 * Plans the next run of every export whose interval has settled, project by project, those that wait longest first; gives how many were planned. Guarantees: a run is planned once however
 * many processes call this; run, ledger and job stand or fall together; an export that is several intervals behind gets one run for each, in order, over the following calls; an export
 * or a project that cannot be planned does not keep the others from it.
 */
export async function planDueExports(engine: Engine): Promise<number> {
  const settledBefore = iso((await databaseInstant(engine.db)) - engine.settle_seconds * 1000);
  const teams = await engine.db.rows<{ team_id: number; oldest: string }>(sql`
    SELECT team_id, min(next_run_at) AS oldest FROM batch_exports WHERE deleted_at IS NULL AND NOT paused AND next_run_at <= ${settledBefore}
    GROUP BY team_id ORDER BY oldest LIMIT ${teams_per_tick_max}`);
  const oldest = teams[0]?.oldest;
  engine.metrics.planner_lag_seconds.set(oldest === undefined ? 0 : (Date.parse(settledBefore) - Date.parse(oldest)) / 1000);
  let planned = 0;
  for (const { team_id } of teams) planned += await planTeam(engine, team_id, settledBefore);
  return planned;
}

async function planTeam(engine: Engine, teamId: number, settledBefore: string): Promise<number> {
  try {
    return await planExports(engine, teamId, settledBefore, null);
  } catch (error) {
    engine.log.warn({ err: error, team_id: teamId }, 'the exports of a project could not be planned together; they are planned one by one');
  }
  const ids = await engine.db.rows<{ id: string }>(sql`
    SELECT id FROM batch_exports WHERE team_id = ${teamId} AND deleted_at IS NULL AND NOT paused AND next_run_at <= ${settledBefore} ORDER BY next_run_at LIMIT ${exports_per_tick_max}`);
  let planned = 0;
  for (const { id } of ids) {
    try {
      planned += await planExports(engine, teamId, settledBefore, id);
    } catch (error) {
      engine.log.error({ err: error, batch_export_id: id }, 'an export could not be planned; it is tried again');
    }
  }
  return planned;
}

async function planExports(engine: Engine, teamId: number, settledBefore: string, only: string | null): Promise<number> {
  return engine.db.transaction(async (tx) => {
    await tx.text(`SET LOCAL lock_timeout = '${lock_seconds_max}s'`);
    // Waits for ingestion before it locks a row: who holds rows while it waits would keep everybody waiting who wants them.
    const final = await settled(tx, teamId);
    // FOR UPDATE SKIP LOCKED: planners share the work; the partial index batch_exports_due gives the oldest first. What is not final yet stays due.
    const due = await tx.rows<DueExport>(sql`
      SELECT id, team_id, revision, "interval", timezone, planned_until, next_run_at, end_at FROM batch_exports
      WHERE team_id = ${teamId} AND deleted_at IS NULL AND NOT paused AND next_run_at <= least(${settledBefore}::timestamptz, ${final}::timestamptz) AND (${only}::uuid IS NULL OR id = ${only})
      ORDER BY next_run_at LIMIT ${exports_per_tick_max} FOR UPDATE SKIP LOCKED`);
    for (const item of due) await planScheduledRun(engine, tx, item);
    return due.length;
  });
}

async function planScheduledRun(engine: Engine, tx: Transaction, item: DueExport): Promise<void> {
  const from = Date.parse(item.planned_until);
  const to = Date.parse(item.next_run_at);
  const base: Rectangle = { event_from: -Infinity, event_to: Infinity, inserted_from: from, inserted_to: to };
  await insertRun(engine, tx, { export: item, backfill_id: null, from, to, selection: await undelivered(tx, item.id, item.revision, [base]) });
  const next = nextSchedule({ interval: item.interval, timezone: item.timezone, end_at: item.end_at === null ? null : Date.parse(item.end_at) }, to);
  await tx.run(sql`
    UPDATE batch_exports SET planned_until = ${item.next_run_at}, next_run_at = ${next === null ? null : iso(next)} WHERE id = ${item.id}`);
}

/** Writes a planned run and its job in the caller's transaction. A scheduled run that exists already for the interval is left alone. */
export async function insertRun(
  engine: Engine,
  tx: Transaction,
  run: {
    export: { id: string; team_id: number; revision: number };
    backfill_id: string | null;
    from: number;
    to: number;
    selection: Rectangle[];
    delivery_id?: string;
    is_own_delivery?: boolean;
  },
): Promise<string | undefined> {
  const id = uuidv7();
  const inserted = await tx.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, revision, backfill_id, delivery_id, data_interval_start, data_interval_end, selection)
    VALUES (${id}, ${run.export.id}, ${run.export.revision}, ${run.backfill_id}, ${run.delivery_id ?? (run.is_own_delivery === false ? uuidv7() : id)}, ${iso(run.from)}, ${iso(run.to)},
      ${JSON.stringify(toStored(run.selection))})
    ON CONFLICT DO NOTHING`);
  if (inserted === 0) return undefined;
  await engine.jobs.send(tx, { id, team_id: run.export.team_id });
  return id;
}

function iso(instant: number): string {
  return new Date(instant).toISOString();
}
