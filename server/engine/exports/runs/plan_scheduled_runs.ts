import sql from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import type { Engine } from '../engine.ts';
import { takenOf } from '../../model/ledger/ledger.ts';
import { historyUntil, subtract } from '../../model/ledger/rectangles.ts';
import type { Rectangle } from '../../model/ledger/rectangles.ts';
import { isReplacing } from '../../model/destination/write_mode.ts';
import type { ModelName } from '../../model/models/model.ts';
import type { LockedExport } from '../planning/backfill.ts';
import { insertRuns, nextSchedule } from '../planning/plan.ts';
import type { Parted } from './count_windows.ts';
import { enterEnds } from './end_runs.ts';
import type { EndedRun } from './end_runs.ts';
import { insertSigned, openReceipts, signAll } from './insert_empty_runs.ts';
import type { EmptyRun, SignedRun } from './insert_empty_runs.ts';

/**
 * Time for which a run that was planned without a count waits for a shared count (`empty_runs.ts`),
 * usually milliseconds, before a worker may claim it.
 */
const look_seconds_max = 5;

/**
 * An export whose next run is due; `final`: the instant below which its project's rows are final.
 */
export type DueExport = {
  id: string;
  team_id: number;
  model: ModelName;
  custom_query: string | null;
  planned_until: string;
  next_run_at: string;
  final: string;
};

/** The count of an export's next interval, and the export at that time. */
export type Seen = { rows: keyof Parted<unknown>; of: DueExport };

type Locked = LockedExport & {
  planned_until: string;
  next_run_at: string;
  end_at: string | null;
  epoch: number;
  is_unreconciled: boolean;
};

/** A run to plan; `rows`: the known class of its row count. */
type Wanted = EmptyRun & { row: Locked; rows: Seen['rows'] | undefined };

/**
 * Returns the next interval of an export: any event time, and the insertions since its last run.
 */
export function intervalOf(of: Pick<DueExport, 'planned_until' | 'next_run_at'>): Rectangle {
  return {
    event_from: -Infinity,
    event_to: Infinity,
    inserted_from: Date.parse(of.planned_until),
    inserted_to: Date.parse(of.next_run_at),
  };
}

/**
 * Plans the next run of each of these exports, and completes runs without rows like `endRuns`.
 * Skips, with nothing changed, exports that are locked or no longer due; and all of them if `epoch`
 * is not the primary that promised the final instants.
 */
export async function planScheduledRuns(
  engine: Engine,
  tx: Transaction,
  due: DueExport[],
  { epoch, seen }: { epoch: number; seen: Map<string, Seen> },
): Promise<{ planned: number; ended: EndedRun[] }> {
  // SKIP LOCKED: planners share the work. An interval that is not final yet stays due.
  const rows = await tx.rows<Locked>(sql`
    SELECT export.id, export.team_id, export.revision, export."interval", export.timezone,
      export.offset_minutes, export.model, export.custom_query, export.write_rule,
      export.destination_type,
      export.destination_config, export.destination_secrets, export.planned_until,
      export.next_run_at, export.end_at, control_epoch() AS epoch,
      EXISTS (SELECT 1 FROM reconciliations WHERE batch_export_id = export.id) AS is_unreconciled
    FROM unnest(${due.map(({ id }) => id)}::uuid[], ${due.map(({ final }) => final)}::timestamptz[])
      AS due (id, final) JOIN batch_exports export USING (id)
    WHERE export.deleted_at IS NULL AND NOT export.paused AND export.next_run_at <= due.final
    FOR UPDATE OF export SKIP LOCKED`);
  const own = rows.filter((row) => row.epoch === epoch);
  if (own.length === 0) return { planned: 0, ended: [] };
  const base = own.map((row) => ({ id: row.id, row, within: [intervalOf(row)] }));
  const taken = await takenOf(
    tx,
    base.map(({ row, within }) => ({ ...row, within })),
  );
  const wanted = base.map(({ row, within }): Wanted => ({
    row,
    from: within[0]!.inserted_from,
    to: within[0]!.inserted_to,
    selection: isReplacing(row.write_rule)
      ? [historyUntil(within[0]!.inserted_to)]
      : subtract(within, taken.get(row.id) ?? []),
    rows: rowsOf(row, seen.get(row.id)),
  }));
  const signed = await signAll(
    wanted.filter(({ rows: known }) => known === 'empty'),
    ({ row, ...run }) => openReceipts(engine, row, null)?.sign(run),
  );
  await planForWorkers(
    tx,
    wanted.filter((run) => !signed.has(run)),
  );
  const ended = await complete(engine, tx, signed);
  await moveOn(tx, own);
  return { planned: own.length, ended };
}

/**
 * Returns the count of the interval if the export still has the counted one. An export that waits
 * to be reconciled is planned as usual, and held afterwards.
 */
function rowsOf(row: Locked, seen: Seen | undefined): Seen['rows'] | undefined {
  // It reads more than the interval, and writes the table even without new rows.
  if (isReplacing(row.write_rule)) return 'busy';
  const isSame =
    seen !== undefined &&
    seen.of.planned_until === row.planned_until &&
    seen.of.next_run_at === row.next_run_at &&
    seen.of.model === row.model &&
    seen.of.custom_query === row.custom_query;
  return isSame && !row.is_unreconciled ? seen.rows : undefined;
}

async function planForWorkers(tx: Transaction, wanted: Wanted[]): Promise<void> {
  await insertRuns(
    tx,
    wanted.map(({ row, rows, from, to, selection }) => ({
      export: row,
      backfill_id: null,
      from,
      to,
      selection,
      // Has no rows but needs a worker: its end has to be reported.
      is_small: rows === 'small' || rows === 'empty',
      needs_worker: rows !== undefined,
      look_seconds: rows === undefined ? look_seconds_max : 0,
    })),
  );
}

/** Completes the new ones; an existing run of the interval ends separately. */
async function complete(
  engine: Engine,
  tx: Transaction,
  signed: Map<Wanted, SignedRun>,
): Promise<EndedRun[]> {
  if (signed.size === 0) return [];
  const inserted = await insertSigned(tx, [...signed.values()]);
  const ended = [...signed]
    .filter(([, { id }]) => inserted.has(id))
    .map(([{ row }, run]): EndedRun => ({
      run: {
        id: run.id,
        batch_export_id: row.id,
        delivery_id: run.id,
        revision: row.revision,
        backfill_id: null,
        replaces: null,
        selection: run.selection,
        data_interval_start: run.start,
        data_interval_end: run.end,
        destination_type: row.destination_type,
      },
      end: { status: 'Completed' },
      receipt: run.receipt,
      is_make_up: false,
      records_completed: 0,
      records_rejected: 0,
      oldest_row_seconds: null,
      newest_row_seconds: null,
      export: { ...row, paused: false, is_deleted: false },
    }));
  await enterEnds(engine, tx, ended);
  return ended;
}

async function moveOn(tx: Transaction, planned: Locked[]): Promise<void> {
  const next = planned.map((row) =>
    nextSchedule(
      { ...row, end_at: row.end_at === null ? null : Date.parse(row.end_at) },
      Date.parse(row.next_run_at),
    ),
  );
  await tx.run(sql`
    UPDATE batch_exports SET planned_until = batch_exports.next_run_at,
      next_run_at = planned.next_run_at
    FROM unnest(${planned.map(({ id }) => id)}::uuid[],
      ${next.map((at) => (at === null ? null : isoInstant(at)))}::timestamptz[]) AS planned (id,
      next_run_at)
    WHERE batch_exports.id = planned.id`);
}
