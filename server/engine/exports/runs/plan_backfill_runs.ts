import sql from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import type { BackfillMode, LockedExport } from '../planning/backfill.ts';
import type { Ahead, Looked, Span } from '../planning/backfill_ahead.ts';
import { backfillArea } from '../planning/backfill_area.ts';
import type { BackfillBy } from '../planning/backfill_area.ts';
import { takenOf } from '../../model/ledger/ledger.ts';
import type { Engine } from '../engine.ts';
import { insertEmptyRuns, openReceipts } from './insert_empty_runs.ts';
import type { EmptyRun } from './insert_empty_runs.ts';
import { historyUntil, intersect, subtract, toStored } from '../../model/ledger/rectangles.ts';
import type { Rectangle } from '../../model/ledger/rectangles.ts';
import { isReplacing } from '../../model/destination/write_mode.ts';
import { insertRuns } from '../planning/plan.ts';
import type { PlannedRun } from '../planning/plan.ts';
import { few_records } from './count_windows.ts';
import { openSourceQuery } from '../source/source_query.ts';
import { countRecords } from '../source/source.ts';

/**
 * Number of open runs of one backfill: enough that the next ones are ready, few enough that the
 * project's scheduled runs do not wait long behind them.
 */
export const open_runs_max = 8;
/** Omitted rows are only counted for information. */
const count_ms_max = 10_000;

/** An open backfill in stored form. */
export type BackfillRow = {
  id: string;
  batch_export_id: string;
  revision: number;
  mode: BackfillMode;
  selects_by: BackfillBy;
  end_at: string;
  watermark: string;
  next_start_at: string;
  status: string;
  is_run_now: boolean;
};

/**
 * The result of a step; `goes_on`: the next step may follow at once. `left_out` is the area that
 * the planned runs omit, because it is delivered or in other runs.
 */
export type Stepped = { planned: number; goes_on: boolean; left_out: Rectangle[] };

/** Returns the area that the backfill's runs over these consecutive spans omit. */
export async function takenFrom(
  db: Queryable,
  backfill: BackfillRow,
  spans: Span[],
): Promise<Rectangle[]> {
  const { batch_export_id: id, revision, mode, selects_by, watermark } = backfill;
  const [first, last] = [spans[0], spans.at(-1)];
  if (mode === 'all' || first === undefined || last === undefined) return [];
  const whole = backfillArea(selects_by, first.from, last.to, Date.parse(watermark));
  const taken = (await takenOf(db, [{ id, revision, within: [whole] }])).get(id) ?? [];
  return intersect(taken, [whole]);
}

type Step = {
  row: LockedExport;
  backfill: BackfillRow;
  spans: Span[];
  ahead: Ahead | undefined;
  open: number;
};

/**
 * Plans the spans in order, until the most runs with rows are open. The spans do not overlap, so
 * these runs take no rows from each other.
 */
export async function planSpans(
  engine: Engine,
  tx: Transaction,
  { row, backfill, spans, ahead, open }: Step,
): Promise<Stepped> {
  const watermark = Date.parse(backfill.watermark);
  const isReplaced = isReplacing(row.write_rule);
  const areaOf = (from: number, to: number) =>
    isReplaced
      ? historyUntil(Math.min(to, watermark))
      : backfillArea(backfill.selects_by, from, to, watermark);
  const whole_from = spans[0]!.from;
  const whole = areaOf(whole_from, spans.at(-1)!.to);
  const taken = isReplaced ? [] : await takenFrom(tx, backfill, spans);
  // Since the look, a run may have ended without delivering, which releases its selection.
  const isTrue = ahead !== undefined && subtract(subtract([whole], taken), ahead.rest).length === 0;
  const sign = openReceipts(engine, row, backfill.id);
  const empty: EmptyRun[] = [];
  const filled: PlannedRun[] = [];
  let next = whole_from;
  let isFull = false;
  for (const { from, to } of spans) {
    const selection = subtract([areaOf(from, to)], taken);
    const records =
      isReplaced || !isTrue || from >= ahead.until ? undefined : (ahead.records.get(from) ?? 0);
    if (sign !== undefined && (selection.length === 0 || records === 0))
      empty.push({ from, to, selection });
    else {
      isFull = open + filled.length >= open_runs_max;
      if (isFull) break;
      const is_small = records !== undefined && records <= few_records;
      filled.push({ export: row, backfill_id: backfill.id, from, to, selection, is_small });
    }
    next = to;
  }
  if (sign !== undefined) await insertEmptyRuns(tx, sign, empty);
  if (filled.length > 0) await insertRuns(tx, filled);
  await tx.run(
    sql`UPDATE batch_export_backfills
      SET next_start_at = ${isoInstant(next)}, last_updated_at = now() WHERE id = ${backfill.id}`,
  );
  if (empty.length > 0)
    engine.metrics.runs_finished.inc(
      { status: 'Completed', destination: row.destination_type },
      empty.length,
    );
  return {
    planned: empty.length + filled.length,
    goes_on: !isFull,
    left_out: next === whole_from ? [] : intersect(taken, [areaOf(whole_from, next)]),
  };
}

/**
 * Counts the rows that runs of a backfill omit, for people who search for them; a failed count is
 * skipped.
 */
export async function noteElsewhere(
  engine: Engine,
  backfill: BackfillRow & Looked,
  left_out: Rectangle[],
): Promise<void> {
  if (backfill.custom_query !== null) return;
  try {
    const source = {
      ...backfill,
      selection: toStored(left_out),
      data_interval_end: backfill.end_at,
    };
    const signal = AbortSignal.timeout(count_ms_max);
    const records = await countRecords(engine, await openSourceQuery(engine, source), signal);
    await engine.db.run(
      sql`UPDATE batch_export_backfills SET records_elsewhere = records_elsewhere + ${records}
        WHERE id = ${backfill.id}`,
    );
  } catch (error) {
    engine.log.info({ err: error, backfill_id: backfill.id }, 'rows left out were not counted');
  }
}
