import sql from 'sql-template-tag';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { backfillArea } from './backfill_area.ts';
import type { BackfillBy } from './backfill_area.ts';
import { undelivered } from '../../model/ledger/ledger.ts';
import { fromStored, intersect } from '../../model/ledger/rectangles.ts';
import type { Rectangle, StoredRectangle } from '../../model/ledger/rectangles.ts';
import { insertRun } from './plan.ts';
import { writeRunLog } from '../../model/run_log.ts';

/** The run that has just ended without delivering; its status is already stored. */
type EndedRun = {
  id: string;
  batch_export_id: string;
  revision: number;
  selection: StoredRectangle[];
  data_interval_start: string;
  data_interval_end: string;
};
/** The fields of a run that determine its planned area. */
export type CoveringRun = {
  data_interval_start: string;
  data_interval_end: string;
  backfill: { selects_by: BackfillBy; watermark: string } | null;
};

/**
 * Plans a run for the rows that other runs left to a backfill's run, which has now ended without
 * delivering them. Guarantee: runs planned later that left out its selection end without a gap,
 * unless they were cancelled. Rows that no other run would have delivered wait for a retry. The
 * caller holds the lock on the export's row. A scheduled run is not replaced: it shows as failed,
 * and a retry delivers it. Neither is one that ended uncertain: the ledger leaves out what it may
 * have delivered. Neither is one that replaces a table: the next run brings everything.
 */
export async function makeUp(tx: Transaction, run: EndedRun): Promise<void> {
  const row = await tx.row(sql`
    SELECT 1 FROM batch_exports export JOIN batch_export_runs run ON run.batch_export_id = export.id
    WHERE run.id = ${run.id} AND run.backfill_id IS NOT NULL
      AND export.deleted_at IS NULL AND export.revision = run.revision
      AND export.write_rule ->> 'mode' IS DISTINCT FROM 'replace'`);
  if (row === undefined) return;
  // Other make-up runs left no rows to this one: each delivers from a selection of a run that was
  // open together with this one, and open runs do not overlap.
  const later = await tx.rows<CoveringRun>(sql`
    SELECT later.data_interval_start, later.data_interval_end,
      CASE WHEN backfill.id IS NOT NULL THEN json_build_object('selects_by', backfill.selects_by,
        'watermark', wire_instant(backfill.watermark)) END AS backfill
    FROM batch_export_runs run JOIN batch_export_runs later
      ON later.batch_export_id = run.batch_export_id AND later.revision = run.revision
      AND later.created_at >= run.created_at
    LEFT JOIN batch_export_backfills backfill ON backfill.id = later.backfill_id
    WHERE run.id = ${run.id} AND later.id <> run.id AND later.backfill_id IS DISTINCT
      FROM run.backfill_id AND NOT later.is_make_up
      AND later.status <> 'Cancelled'`);
  const wanted = intersect(fromStored(run.selection), later.map(baseOf));
  const rest = await undelivered(tx, run.batch_export_id, run.revision, wanted);
  if (rest.length === 0) return;
  // It gets a new delivery id, because its selection differs and it is not the interval's scheduled
  // run.
  const span = { from: Date.parse(run.data_interval_start), to: Date.parse(run.data_interval_end) };
  const id = await insertRun(tx, {
    export: { id: run.batch_export_id, revision: run.revision },
    backfill_id: null,
    ...span,
    selection: rest,
    is_make_up: true,
  });
  await writeRunLog(tx, {
    batch_export_id: run.batch_export_id,
    run_id: id ?? null,
    level: 'INFO',
    message: `Delivers the rows that other runs left to run ${run.id}, which ended without them.`,
  });
}

/** Returns the planned area of a run before subtraction; not for make-up runs. */
export function baseOf(run: CoveringRun): Rectangle {
  const [from, to] = [Date.parse(run.data_interval_start), Date.parse(run.data_interval_end)];
  if (run.backfill === null)
    return { event_from: -Infinity, event_to: Infinity, inserted_from: from, inserted_to: to };
  return backfillArea(run.backfill.selects_by, from, to, Date.parse(run.backfill.watermark));
}
