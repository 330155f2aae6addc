import sql from 'sql-template-tag';
import { isDatabaseError } from '../../../platform/postgres/database.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';
import { elsewhereSentence, lockExport } from '../planning/backfill.ts';
import type { LockedExport } from '../planning/backfill.ts';
import { lookAhead } from '../planning/backfill_ahead.ts';
import type { Ahead, Looked, Span } from '../planning/backfill_ahead.ts';
import { counted } from '../../../platform/counted.ts';
import type { Engine } from '../engine.ts';
import { settled } from '../../ingest/lock.ts';
import { boundaryAfter, isSameRhythm } from '../planning/interval.ts';
import { starts_max } from '../planning/interval_text.ts';
import type { Rhythm } from '../planning/interval.ts';
import { noteElsewhere, open_runs_max, planSpans, takenFrom } from './plan_backfill_runs.ts';
import type { BackfillRow, Stepped } from './plan_backfill_runs.ts';
import { writeRunLog } from '../../model/run_log.ts';

/** At this many open runs or fewer, several further ones are planned. */
const refill_runs_max = 4;
/**
 * Number of empty intervals that one step plans: enough for thousands in a second, few enough for a
 * short lock on the export.
 */
const spans_per_step_max = starts_max;
const running_detail =
  'In progress: its runs are planned in order, a few with rows at a time. Runs without rows ' +
  'complete at once.';
/** After this time, other backfills get their turn. */
const turn_ms_max = 1_000;
/** Number of backfills in one turn. */
const backfills_per_turn_max = 200;
/** Longest wait of one backfill for locks before the others get their turn. */
const lock_seconds_max = 5;
/** After this many finally failed runs, the backfill stops: the rest would most likely fail too. */
const failed_runs_max = 3;

/**
 * Plans further runs of open backfills, closes finished ones, and returns the number of planned
 * runs. Guarantees: each data interval of a backfill is planned once, in order. Few are open at a
 * time, so a long backfill needs no more memory. Intervals without rows are completed during
 * planning, thousands in a second.
 */
export async function advanceBackfills(engine: Engine): Promise<number> {
  // Skips backfills with enough open runs, so that they do not delay later ones. Uses
  // batch_export_backfills_open and batch_export_runs_not_completed.
  const open = await engine.db.rows<{ id: string; batch_export_id: string; team_id: number }>(sql`
    SELECT backfill.id, backfill.batch_export_id, export.team_id
      FROM batch_export_backfills backfill JOIN batch_exports export
      ON export.id = backfill.batch_export_id
    WHERE backfill.finished_at IS NULL
      AND (SELECT count(*) FROM batch_export_runs run WHERE run.backfill_id = backfill.id
        AND run.status IN ('Starting', 'Running')) <= ${refill_runs_max}
    ORDER BY backfill.created_at LIMIT ${backfills_per_turn_max}`);
  let planned = 0;
  const busyTeams = new Set<number>();
  for (const backfill of open) {
    if (busyTeams.has(backfill.team_id)) continue;
    try {
      planned += await advanceOne(engine, backfill);
    } catch (error) {
      // A lock timeout (SQLSTATE 55P03) most likely waited for ingestion, and the project's other
      // backfills would wait as long.
      if (isDatabaseError(error) && error.code === '55P03') busyTeams.add(backfill.team_id);
      engine.log.warn(
        { err: error, backfill_id: backfill.id },
        'a backfill could not be advanced; it is tried again',
      );
    }
  }
  return planned;
}

type RunCounts = { open: number; failed: number; cancelled: number; not_completed: number };
type BackfillKey = { id: string; batch_export_id: string };

const backfillColumns = sql`backfill.id, backfill.batch_export_id, backfill.revision, backfill.mode,
  backfill.selects_by, backfill.end_at, backfill.watermark, backfill.next_start_at,
  backfill.status, backfill.is_run_now`;

/**
 * Each step looks further ahead while there is nothing to deliver; after a second, other backfills
 * get their turn.
 */
async function advanceOne(engine: Engine, key: BackfillKey): Promise<number> {
  const began = performance.now();
  let planned = 0;
  for (let wanted = open_runs_max; ; wanted = Math.min(4 * wanted, spans_per_step_max)) {
    // Reads without a lock, so that nobody waits for the analytics store. The lock shows progress
    // made meanwhile.
    const seen = await engine.db.row<BackfillRow & Looked>(sql`
      SELECT ${backfillColumns}, export.team_id, export.model, export.custom_query,
        export.destination_config, export."interval", export.timezone, export.offset_minutes
      FROM batch_export_backfills backfill JOIN batch_exports export
        ON export.id = backfill.batch_export_id WHERE backfill.id = ${key.id}
        AND backfill.finished_at IS NULL`);
    if (seen === undefined) return planned;
    const spans = spansOf(seen, Date.parse(seen.next_start_at), Date.parse(seen.end_at), wanted);
    // Before the watermark has settled, a look would miss rows.
    const ahead =
      seen.status === 'Running'
        ? await lookAhead(engine, seen, spans, await takenFrom(engine.db, seen, spans))
        : undefined;
    const step = await engine.db.transaction((tx) => advance(engine, tx, key, seen, spans, ahead));
    if (step.left_out.length > 0) await noteElsewhere(engine, seen, step.left_out);
    planned += step.planned;
    if (!step.goes_on || performance.now() - began > turn_ms_max) return planned;
  }
}

function spansOf(rhythm: Rhythm, start: number, end: number, count: number): Span[] {
  const spans: Span[] = [];
  for (let from = start; from < end && spans.length < count;) {
    const to = Math.min(boundaryAfter(rhythm, from), end);
    spans.push({ from, to });
    from = to;
  }
  return spans;
}

const nothing: Stepped = { planned: 0, goes_on: false, left_out: [] };

async function advance(
  engine: Engine,
  tx: Transaction,
  key: BackfillKey,
  seen: BackfillRow & Looked,
  spans: Span[],
  ahead: Ahead | undefined,
): Promise<Stepped> {
  await tx.text(`SET LOCAL lock_timeout = '${lock_seconds_max}s'`);
  const row = await lockExport(tx, key.batch_export_id);
  const backfill = await tx.row<BackfillRow>(sql`
    SELECT ${backfillColumns} FROM batch_export_backfills backfill WHERE backfill.id = ${key.id}
      AND backfill.finished_at IS NULL FOR UPDATE SKIP LOCKED`);
  if (backfill === undefined) return nothing;
  if (row === undefined || row.revision !== backfill.revision) {
    await finishBackfill(tx, backfill, 'Cancelled');
    return nothing;
  }
  // Another process was here since, or the interval was changed.
  if (backfill.next_start_at !== seen.next_start_at || !isSameRhythm(row, seen)) return nothing;
  const counts = await countRuns(tx, backfill.id);
  if (counts.open > refill_runs_max) return nothing;
  if (backfill.status !== 'Running') {
    if (!(await isSettled(engine, tx, row, backfill))) return nothing;
    await tx.run(
      sql`UPDATE batch_export_backfills SET status = 'Running', detail = ${running_detail},
        last_updated_at = now() WHERE id = ${backfill.id}`,
    );
    return { ...nothing, goes_on: true };
  }
  const [next, end] = [Date.parse(backfill.next_start_at), Date.parse(backfill.end_at)];
  const isOver = next >= end || counts.failed >= failed_runs_max;
  if (!isOver) return planSpans(engine, tx, { row, backfill, spans, ahead, open: counts.open });
  if (counts.open === 0)
    await finishBackfill(
      tx,
      backfill,
      next < end ? 'Failed' : endOf(counts),
      failureOf(counts, next < end),
    );
  return nothing;
}

async function countRuns(tx: Transaction, backfillId: string): Promise<RunCounts> {
  return (await tx.row<RunCounts>(sql`
    SELECT count(*) FILTER (WHERE status IN ('Starting', 'Running'))::int AS open,
      count(*) FILTER (WHERE status = 'Failed' AND NOT is_retried)::int AS failed,
      count(*) FILTER (WHERE status = 'Cancelled' AND NOT is_retried)::int AS cancelled,
      count(*) FILTER (WHERE status NOT IN ('Starting', 'Running')
        AND NOT is_retried)::int AS not_completed
    FROM (
      -- The index batch_export_runs_not_completed has these few rows, however many were
      -- completed. A run whose delivery another run has taken up again does not count against
      -- the backfill.
      SELECT run.status, EXISTS (SELECT 1 FROM batch_export_runs retry
        WHERE retry.backfill_id = run.backfill_id AND retry.delivery_id = run.delivery_id
        AND retry.id <> run.id
        AND retry.status IN ('Starting', 'Running', 'Completed')) AS is_retried
      FROM batch_export_runs run WHERE run.backfill_id = ${backfillId}
        AND run.status <> 'Completed') counted`))!;
}

/**
 * Returns the end of a backfill whose runs are all planned and ended: a run that people cancelled
 * is no failure.
 */
function endOf({ not_completed, cancelled }: RunCounts): 'Completed' | 'Failed' | 'Cancelled' {
  if (not_completed === 0) return 'Completed';
  return not_completed === cancelled ? 'Cancelled' : 'Failed';
}

/** Returns a sentence with the number of failed runs, to append to others; empty if none failed. */
function failureOf({ not_completed, cancelled }: RunCounts, leaves_rest: boolean): string {
  const failed = not_completed - cancelled;
  if (failed === 0) return '';
  return ` ${counted(failed, 'run')} failed${leaves_rest ? ', so the rest was not started' : ''}.`;
}

/**
 * A backfill's area is final once no row can be inserted below its watermark. It stays final, so a
 * `Running` backfill needs no further check.
 */
async function isSettled(
  engine: Engine,
  tx: Transaction,
  row: LockedExport,
  backfill: BackfillRow,
): Promise<boolean> {
  if ((await databaseInstant(tx)) < Date.parse(backfill.watermark) + engine.settle_seconds * 1000)
    return false;
  return Date.parse(await settled(tx, row.team_id)) >= Date.parse(backfill.watermark);
}

async function finishBackfill(
  tx: Transaction,
  backfill: BackfillRow,
  status: 'Completed' | 'Failed' | 'Cancelled',
  failure = '',
): Promise<void> {
  const what = backfill.is_run_now ? 'Run now' : 'Backfill';
  const detail = `${what} ended: ${status}. ${await summaryOf(tx, backfill.id)}${failure}`;
  await tx.run(sql`
    UPDATE batch_export_backfills SET status = ${status}, detail = ${detail}, finished_at = now(),
      last_updated_at = now() WHERE id = ${backfill.id}`);
  await writeRunLog(tx, {
    batch_export_id: backfill.batch_export_id,
    run_id: null,
    level: status === 'Completed' ? 'INFO' : 'WARNING',
    message: detail,
  });
}

/**
 * Summarizes a backfill's delivery in a sentence; for few rows or none, it includes the rows
 * delivered before.
 */
async function summaryOf(tx: Transaction, id: string): Promise<string> {
  const { rows, filled, empty, elsewhere } = (await tx.row<{
    rows: number;
    filled: number;
    empty: number;
    elsewhere: number;
  }>(sql`
    SELECT coalesce(sum(run.records_completed), 0)::float8 AS rows,
      count(*) FILTER (WHERE run.records_completed + run.records_rejected > 0)::int AS filled,
      count(*) FILTER (WHERE run.status = 'Completed' AND run.records_completed
        + run.records_rejected = 0)::int AS empty,
      (SELECT records_elsewhere FROM batch_export_backfills WHERE id = ${id})::float8 AS elsewhere
    FROM batch_export_runs run WHERE run.backfill_id = ${id} AND run.status = 'Completed'`))!;
  const others = empty === 0 ? '' : `; ${counted(empty, 'run')} had no rows to deliver`;
  const delivered = `Delivered ${counted(rows, 'row')} in ${counted(filled, 'run')}${others}.`;
  return elsewhere === 0 ? delivered : `${delivered} ${elsewhereSentence(elsewhere)}`;
}
