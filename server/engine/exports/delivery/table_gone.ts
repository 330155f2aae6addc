import sql from 'sql-template-tag';
import { counted } from '../../../platform/counted.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { writeNotice } from '../../notices/write_notice.ts';
import type { ClaimedRun } from '../../model/run.ts';
import type { Engine } from '../engine.ts';
import type { Rhythm } from '../planning/interval.ts';
import { beginRevision } from '../runs/begin_revision.ts';
import { endRun } from '../runs/end_runs.ts';

/**
 * Thrown before any write if a table with rows of the run's revision is gone. The revision's
 * deliveries no longer count then.
 */
export class TableGoneError extends Error {
  readonly table: string;
  constructor(table: string) {
    super(`The table ${table} is gone.`);
    this.name = 'TableGoneError';
    this.table = table;
  }
}

/**
 * Called before a table that receipts mention is created again. Throws `TableGoneError` if the
 * run's revision has delivered rows; otherwise the table only held rows of earlier revisions.
 */
export function refuseLoss(engine: Engine, run: ClaimedRun): (table: string) => Promise<void> {
  return async (table) => {
    // A generation brings every row.
    if (run.write_rule?.mode === 'replace') return;
    if ((await rowsDelivered(engine, run)) > 0) throw new TableGoneError(table);
  };
}

async function rowsDelivered({ db }: Engine, run: ClaimedRun): Promise<number> {
  const { rows } = (await db.row<{ rows: number }>(sql`
    SELECT coalesce(sum(records_completed), 0)::bigint AS rows FROM batch_export_runs
    WHERE batch_export_id = ${run.batch_export_id} AND revision = ${run.revision}
      AND status = 'Completed' AND replaces IS NULL`))!;
  return rows;
}

type Standing = Rhythm & {
  revision: number;
  end_at: string | null;
  planned_until: string;
  next_run_at: string | null;
};

/**
 * Begins a new revision of an export whose table is gone, and ends the run. Guarantees: the new
 * revision plans the intervals in progress again, so that each has its rows once. The lost rows of
 * the table count as missing (`partly_delivered`). One notice reports it, however many runs find
 * the table gone.
 */
export async function startAnew(
  engine: Engine,
  run: ClaimedRun,
  { table }: TableGoneError,
): Promise<void> {
  const rows = await rowsDelivered(engine, run);
  await engine.db.transaction(async (tx) => {
    const before = await tx.row<Standing>(sql`
      SELECT revision, "interval", timezone, offset_minutes, end_at, planned_until, next_run_at
      FROM batch_exports WHERE id = ${run.batch_export_id} AND deleted_at IS NULL FOR UPDATE`);
    if (before === undefined || before.revision !== run.revision) return;
    const end_at = before.end_at === null ? null : Date.parse(before.end_at);
    const planned = {
      planned_until: Date.parse(before.planned_until),
      next_run_at: before.next_run_at === null ? null : Date.parse(before.next_run_at),
    };
    const of = { id: run.batch_export_id, revision: run.revision };
    const { revision, schedule } = await beginRevision(tx, of, planned, { ...before, end_at });
    await tx.run(sql`
      UPDATE batch_exports SET revision = ${revision}, delivery_changed_at = now(),
        last_updated_at = now(), planned_until = ${isoInstant(schedule.planned_until)},
        next_run_at = ${schedule.next_run_at === null ? null : isoInstant(schedule.next_run_at)}
      WHERE id = ${run.batch_export_id}`);
    await writeNotice(tx, engine.clock, run.batch_export_id, {
      event: 'table_gone',
      detail:
        `The table ${table} is gone, and with it ${counted(rows, 'row')}. Sluice creates it ` +
        `again and continues with ${isoInstant(schedule.planned_until)}. Start a backfill by ` +
        'insertion time (`inserted_at`) to deliver the earlier rows again.',
      run: null,
      facts: { table, records_lost: rows },
    });
  });
  const message =
    run.backfill_id === null
      ? `The table ${table} is gone. A new revision of the export plans this interval again.`
      : `The table ${table} is gone, so the export starts again. Start the backfill again.`;
  await endRun(engine, run, { status: 'Cancelled', code: 'cancelled', message });
}
