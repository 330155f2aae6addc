import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { isDatabaseError } from '../../platform/postgres/database.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { databaseInstant } from '../../platform/postgres/instant.ts';
import { backfillArea } from './backfill_area.ts';
import type { BackfillBy } from './backfill_area.ts';
import { takenOf } from '../ledger/deliveries.ts';
import type { Engine } from '../engine.ts';
import { settled } from '../ingest/lock.ts';
import { boundaryAfter, intervalCount } from './interval.ts';
import type { Interval } from './interval.ts';
import { subtract } from '../ledger/ledger.ts';
import { insertRuns } from './plan.ts';
import { writeRunLog } from '../run_log.ts';

/** How many runs of one backfill are open at a time: enough that the next ones wait while the first are under way, few enough that scheduled runs of the project do not wait for long behind them. */
const open_runs_max = 8;
/** With so many open or fewer, further ones are planned, several at once. */
const refill_runs_max = 4;
/** How many backfills are looked at in one turn. */
const backfills_per_turn_max = 200;
/** How long one backfill may wait for locks before the others get their turn. */
const lock_seconds_max = 5;
/** After this many runs that failed for good, the rest would most likely fail alike: the backfill stops. */
const failed_runs_max = 3;

/** Which rows a backfill delivers: those not delivered yet, or all of them once more. */
export type BackfillMode = 'missing' | 'all';

/** What a backfill covers: [from, to) in milliseconds of event or insertion time, and which of the rows in it. */
export type BackfillRange = { from: number; to: number; by: BackfillBy; mode: BackfillMode };

type ExportRow = {
  id: string;
  team_id: number;
  revision: number;
  interval: Interval;
  timezone: string;
};

/**
 * Starts a backfill of the range and gives its id. The runs are the export's intervals, cut at both ends of the range, so exactly the range is delivered.
 * What was inserted before this moment (the watermark) belongs to it; later insertions stay with the schedule. Its first run is planned when the watermark has settled. The caller has checked the range.
 */
export async function startBackfill(
  tx: Transaction,
  exportId: string,
  range: BackfillRange,
): Promise<string> {
  const row = await lockExport(tx, exportId);
  if (row === undefined) throw new Error('The export is gone.');
  const watermark = await databaseInstant(tx);
  const id = uuidv7();
  await tx.run(sql`
    INSERT INTO batch_export_backfills (id, batch_export_id, revision, mode, selects_by, start_at, end_at, watermark, next_start_at, total_runs)
    VALUES (${id}, ${exportId}, ${row.revision}, ${range.mode}, ${range.by}, ${iso(range.from)}, ${iso(range.to)}, ${iso(watermark)}, ${iso(range.from)},
      ${intervalCount(row.interval, row.timezone, range.from, range.to)})`);
  await writeRunLog(tx, {
    batch_export_id: exportId,
    run_id: null,
    level: 'INFO',
    message: startMessage(range),
  });
  return id;
}

function startMessage({ from, to, by }: BackfillRange): string {
  return `Backfill of ${iso(from)} to ${iso(to)} started: what ${by === 'timestamp' ? 'happened' : 'was taken in'} in that time.`;
}

/**
 * Plans further runs of open backfills and closes those that are over; gives how many runs were planned. Guarantee: each data interval of a backfill is planned
 * once, in order, and few are open at a time, so the length of a backfill costs no memory.
 */
export async function advanceBackfills(engine: Engine): Promise<number> {
  // Those that have enough under way are left out, so that they do not keep later ones from their turn. Leans on batch_export_backfills_open and batch_export_runs_not_completed.
  const open = await engine.db.rows<{ id: string; batch_export_id: string; team_id: number }>(sql`
    SELECT backfill.id, backfill.batch_export_id, export.team_id FROM batch_export_backfills backfill JOIN batch_exports export ON export.id = backfill.batch_export_id
    WHERE backfill.finished_at IS NULL
      AND (SELECT count(*) FROM batch_export_runs run WHERE run.backfill_id = backfill.id AND run.status IN ('Starting', 'Running')) <= ${refill_runs_max}
    ORDER BY backfill.created_at LIMIT ${backfills_per_turn_max}`);
  let planned = 0;
  const busyTeams = new Set<number>();
  for (const backfill of open) {
    if (busyTeams.has(backfill.team_id)) continue;
    try {
      planned += await engine.db.transaction((tx) => advance(engine, tx, backfill));
    } catch (error) {
      // A wait that was too long (SQLSTATE 55P03) was most likely for ingestion, and the project's other backfills would wait for it as long.
      if (isDatabaseError(error) && error.code === '55P03') busyTeams.add(backfill.team_id);
      engine.log.warn(
        { err: error, backfill_id: backfill.id },
        'a backfill could not be advanced; it is tried again',
      );
    }
  }
  return planned;
}

type BackfillRow = {
  id: string;
  batch_export_id: string;
  revision: number;
  mode: BackfillMode;
  selects_by: BackfillBy;
  end_at: string;
  watermark: string;
  next_start_at: string;
  status: string;
};
type RunCounts = { open: number; failed: number; cancelled: number; not_completed: number };

async function advance(
  engine: Engine,
  tx: Transaction,
  key: { id: string; batch_export_id: string },
): Promise<number> {
  await tx.text(`SET LOCAL lock_timeout = '${lock_seconds_max}s'`);
  const row = await lockExport(tx, key.batch_export_id);
  const backfill = await tx.row<BackfillRow>(sql`
    SELECT id, batch_export_id, revision, mode, selects_by, end_at, watermark, next_start_at, status FROM batch_export_backfills
    WHERE id = ${key.id} AND finished_at IS NULL FOR UPDATE SKIP LOCKED`);
  if (backfill === undefined) return 0;
  if (row === undefined || row.revision !== backfill.revision) {
    await finishBackfill(tx, backfill, 'Cancelled');
    return 0;
  }
  const counts = (await tx.row<RunCounts>(sql`
    SELECT count(*) FILTER (WHERE status IN ('Starting', 'Running'))::int AS open, count(*) FILTER (WHERE status = 'Failed' AND NOT is_retried)::int AS failed,
      count(*) FILTER (WHERE status = 'Cancelled' AND NOT is_retried)::int AS cancelled,
      count(*) FILTER (WHERE status NOT IN ('Starting', 'Running') AND NOT is_retried)::int AS not_completed
    FROM (
      -- The index batch_export_runs_not_completed has these few rows, however many were completed. A run whose delivery another run has taken up again does not count against the backfill.
      SELECT run.status, EXISTS (SELECT 1 FROM batch_export_runs retry WHERE retry.backfill_id = run.backfill_id AND retry.delivery_id = run.delivery_id AND retry.id <> run.id
        AND retry.status IN ('Starting', 'Running', 'Completed')) AS is_retried
      FROM batch_export_runs run WHERE run.backfill_id = ${backfill.id} AND run.status <> 'Completed') counted`))!;
  if (counts.open > refill_runs_max || !(await isSettled(engine, tx, row, backfill))) return 0;
  let next = Date.parse(backfill.next_start_at);
  const end = counts.failed >= failed_runs_max ? next : Date.parse(backfill.end_at);
  const spans: { from: number; to: number }[] = [];
  while (next < end && counts.open + spans.length < open_runs_max) {
    const to = Math.min(boundaryAfter(row.interval, row.timezone, next), end);
    spans.push({ from: next, to });
    next = to;
  }
  if (spans.length > 0) {
    await planRuns(tx, row, backfill, spans);
    await tx.run(sql`
      UPDATE batch_export_backfills SET next_start_at = ${iso(next)}, status = 'Running', last_updated_at = now() WHERE id = ${backfill.id}`);
  } else if (counts.open === 0) {
    await finishBackfill(
      tx,
      backfill,
      next < Date.parse(backfill.end_at) ? 'Failed' : endOf(counts),
    );
  }
  return spans.length;
}

/** How a backfill ends whose runs were all planned and are over: what people took back is no failure. */
function endOf({ not_completed, cancelled }: RunCounts): 'Completed' | 'Failed' | 'Cancelled' {
  if (not_completed === 0) return 'Completed';
  return not_completed === cancelled ? 'Cancelled' : 'Failed';
}

/** What a backfill covers is final once nothing can be inserted below its watermark any more, and stays so: with its first runs planned nobody needs to ask again. */
async function isSettled(
  engine: Engine,
  tx: Transaction,
  row: ExportRow,
  backfill: BackfillRow,
): Promise<boolean> {
  if (backfill.status === 'Running') return true;
  if ((await databaseInstant(tx)) < Date.parse(backfill.watermark) + engine.settle_seconds * 1000)
    return false;
  return Date.parse(await settled(tx, row.team_id)) >= Date.parse(backfill.watermark);
}

/** The spans do not overlap, so what one of these runs takes is nothing to the others. */
async function planRuns(
  tx: Transaction,
  row: ExportRow,
  backfill: BackfillRow,
  spans: { from: number; to: number }[],
): Promise<void> {
  const watermark = Date.parse(backfill.watermark);
  const taken = backfill.mode === 'all' ? [] : ((await takenOf(tx, [row])).get(row.id) ?? []);
  const planned = spans.map(({ from, to }) => {
    const base = backfillArea(backfill.selects_by, from, to, watermark);
    return { export: row, backfill_id: backfill.id, from, to, selection: subtract([base], taken) };
  });
  await insertRuns(tx, planned);
}

async function finishBackfill(
  tx: Transaction,
  backfill: BackfillRow,
  status: 'Completed' | 'Failed' | 'Cancelled',
): Promise<void> {
  await tx.run(sql`
    UPDATE batch_export_backfills SET status = ${status}, finished_at = now(), last_updated_at = now() WHERE id = ${backfill.id}`);
  await writeRunLog(tx, {
    batch_export_id: backfill.batch_export_id,
    run_id: null,
    level: status === 'Completed' ? 'INFO' : 'WARNING',
    message: `Backfill ended: ${status}.`,
  });
}

/** Ends a backfill early: no further runs are planned and those under way are cancelled. False when it is over already. */
export async function cancelBackfill(tx: Transaction, backfillId: string): Promise<boolean> {
  const ended = await tx.row<{ batch_export_id: string }>(sql`
    UPDATE batch_export_backfills SET status = 'Cancelled', finished_at = now(), last_updated_at = now() WHERE id = ${backfillId} AND finished_at IS NULL RETURNING batch_export_id`);
  if (ended === undefined) return false;
  const runs = await tx.run(sql`
    UPDATE batch_export_runs SET cancel_requested_at = now(), last_updated_at = now() WHERE backfill_id = ${backfillId} AND status IN ('Starting', 'Running') AND cancel_requested_at IS NULL`);
  const message = `Backfill ended: Cancelled. No further runs are planned; of those under way ${runs} are to be taken back.`;
  await writeRunLog(tx, {
    batch_export_id: ended.batch_export_id,
    run_id: null,
    level: 'WARNING',
    message,
  });
  return true;
}

async function lockExport(tx: Transaction, exportId: string): Promise<ExportRow | undefined> {
  // The export's row is the lock under which its ledger is read and written.
  return tx.row<ExportRow>(sql`
    SELECT id, team_id, revision, "interval", timezone FROM batch_exports WHERE id = ${exportId} AND deleted_at IS NULL FOR UPDATE`);
}

function iso(instant: number): string {
  return new Date(instant).toISOString();
}
