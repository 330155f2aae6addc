import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { addDelivered } from '../../model/ledger/ledger.ts';
import { fromStored, restOf, toStored, unionOf } from '../../model/ledger/rectangles.ts';
import type { Rectangle, StoredRectangle } from '../../model/ledger/rectangles.ts';
import type { StoredSlice } from '../../model/run.ts';
import { writeRunLog } from '../../model/run_log.ts';
import type { Receipt } from '../runs/receipt.ts';
import { markGenerations } from '../runs/generations.ts';
import type { NewReceipt, WaitingExport } from './found_receipts.ts';

/** A run that was open in the backup. */
type OpenRun = { id: string; delivery_id: string; selection: StoredRectangle[] };

/** Counts of an export's runs: completed by receipts, and restarted. */
export type Entered = { completed: number; restarted: number; backfills_cancelled: number };

/**
 * Enters deliveries after the backup as if this server had completed them: for each, a completed
 * run with its receipt, and its selection in the ledger. The receipt of its delivery completes a
 * run that was open in the backup. Without a receipt at the destination, the run restarts under the
 * same delivery. The caller holds the lock on the export's row.
 */
export async function enterReceipts(
  tx: Transaction,
  row: WaitingExport,
  found: NewReceipt[],
): Promise<Entered> {
  const open = await tx.rows<OpenRun>(sql`
    SELECT id, delivery_id, selection FROM batch_export_runs
    WHERE batch_export_id = ${row.id} AND status IN ('Starting', 'Running') FOR UPDATE`);
  const byDelivery = new Map(open.map((run) => [run.delivery_id, run]));
  for (const { receipt, text } of found) {
    const run = byDelivery.get(receipt.delivery_id);
    byDelivery.delete(receipt.delivery_id);
    const id = run?.id ?? (await insertCompleted(tx, row, receipt));
    await complete(tx, id, receipt, text);
    await markGenerations(tx, [{ ...row, ...receipt, id, batch_export_id: row.id }]);
    await writeRunLog(tx, {
      batch_export_id: row.id,
      run_id: id,
      level: 'INFO',
      message:
        'Copied from the receipt at the destination. The run was delivered after the backup ' +
        'that this server was restored from.',
    });
  }
  const delivered = found.flatMap(({ receipt }) => fromStored(receipt.selection));
  await addToLedger(tx, row, delivered);
  const restarted = [...byDelivery.values()].map(({ id, selection }) => ({
    id,
    selection: toStored(restOf(fromStored(selection), delivered)),
  }));
  await beginAnew(tx, restarted);
  return {
    completed: found.length,
    restarted: restarted.length,
    backfills_cancelled: await cancelRepeating(tx, row.id),
  };
}

/** Adds an area to the ledger of an export's present revision. */
export async function addToLedger(
  tx: Transaction,
  { id: batch_export_id, revision }: Pick<WaitingExport, 'id' | 'revision'>,
  area: Rectangle[],
): Promise<void> {
  if (area.length === 0) return;
  await addDelivered(tx, [{ batch_export_id, revision, selection: unionOf(area) }]);
}

/**
 * The run gets its own id: with the delivery's id it would be the scheduled run of the interval,
 * and rows that the delivery left out would never be planned.
 */
async function insertCompleted(
  tx: Transaction,
  row: WaitingExport,
  receipt: Receipt,
): Promise<string> {
  const id = uuidv7();
  await tx.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, status,
      data_interval_start, data_interval_end, selection, attempt, created_at, started_at)
    VALUES (${id}, ${row.id}, ${row.team_id}, ${row.revision}, ${receipt.delivery_id}, 'Running',
      ${receipt.data_interval_start}, ${receipt.data_interval_end},
      ${JSON.stringify(receipt.selection)}, 1, ${receipt.created_at}, ${receipt.created_at})`);
  return id;
}

async function complete(
  tx: Transaction,
  id: string,
  receipt: Receipt,
  text: string,
): Promise<void> {
  await tx.run(sql`
    UPDATE batch_export_runs SET status = 'Completed', receipt = ${text},
      records_total_count = ${receipt.source_records}, records_completed = ${receipt.records},
      records_rejected = ${receipt.rejected_records ?? 0}, bytes_completed = ${receipt.bytes},
      "cursor" = ${String(receipt.slices.length)},
      schema_number = ${receipt.schema_number ?? null}::integer,
      selection = ${JSON.stringify(receipt.selection)}, attempt = greatest(attempt, 1),
      started_at = coalesce(started_at, ${receipt.created_at}), finished_at = ${receipt.created_at},
      committing_at = ${receipt.created_at}, cancel_requested_at = NULL, latest_error = NULL,
      error_code = NULL, last_updated_at = now(), model = NULL, custom_query = NULL,
      destination_type = NULL, destination_config = NULL, destination_secrets = NULL
    WHERE id = ${id}`);
  await tx.run(sql`DELETE FROM batch_export_slices WHERE run_id = ${id}`);
  await tx.run(sql`
    INSERT INTO batch_export_slices (run_id, number, inserted_from, inserted_to, records, outcome)
    SELECT ${id}::uuid, number, inserted_from, inserted_to, records, outcome
    FROM jsonb_to_recordset(${JSON.stringify(slicesOf(receipt))}::jsonb) AS slice (number int,
      inserted_from timestamptz, inserted_to timestamptz, records bigint, outcome jsonb)`);
}

/**
 * Returns the slices that `verify` reads. A receipt does not contain the cuts by insertion. So the
 * slices of a table become one for all rows. Of files, the first slice stands for all rows and the
 * others for none. A comparison with the source then sees each row once.
 */
function slicesOf(receipt: Receipt): StoredSlice[] {
  const [first, ...others] = receipt.slices;
  if (first === undefined) return [];
  const { source_records: records, bytes } = receipt;
  const isTable = others.length > 0 && others.every(({ name }) => name === first.name);
  const slices = isTable ? [{ ...first, records, bytes }] : receipt.slices;
  const nowhere = receipt.data_interval_start;
  return slices.map((slice) => ({
    number: slice.number,
    inserted_from: slice.number === 0 ? null : nowhere,
    inserted_to: slice.number === 0 ? null : nowhere,
    records: slice.records + (isTable ? 0 : (slice.rejected_records ?? 0)),
    outcome: { ...slice, state: null },
  }));
}

/**
 * Restarts runs without the rows that others have delivered. Counted rows may be lost, so runs are
 * counted and cut again. The deliveries keep their ids: leftovers of the old server are found by
 * name and replaced.
 */
export async function beginAnew(
  tx: Transaction,
  runs: { id: string; selection: StoredRectangle[] }[],
): Promise<void> {
  if (runs.length === 0) return;
  const ids = runs.map(({ id }) => id);
  await tx.run(sql`DELETE FROM batch_export_slices WHERE run_id = ANY (${ids}::uuid[])`);
  await tx.run(sql`
    UPDATE batch_export_runs run SET selection = anew.selection, records_total_count = NULL,
      records_completed = NULL, records_rejected = 0, bytes_completed = 0, "cursor" = NULL,
      receipt = NULL, committing_at = NULL, failures = 0, slices_safe_max = 0, due_at = now(),
      last_updated_at = now()
    FROM jsonb_to_recordset(${JSON.stringify(runs)}::jsonb) AS anew (id uuid, selection jsonb)
    WHERE run.id = anew.id`);
}

/**
 * A backfill that delivers everything again would repeat intervals that the old server had finished
 * after the backup, and nothing shows which ones.
 */
async function cancelRepeating(tx: Transaction, exportId: string): Promise<number> {
  const cancelled = await tx.run(sql`
    UPDATE batch_export_backfills SET status = 'Cancelled', finished_at = now(),
      last_updated_at = now(),
      detail = 'It was under way when the server was restored from a backup, and may have been ' ||
        'further than the backup says: start it again if its rows are wanted once more.'
    WHERE batch_export_id = ${exportId} AND mode = 'all' AND finished_at IS NULL`);
  if (cancelled > 0)
    await tx.run(sql`
      UPDATE batch_export_runs run SET cancel_requested_at = now()
      FROM batch_export_backfills backfill WHERE backfill.id = run.backfill_id
        AND run.batch_export_id = ${exportId} AND backfill.mode = 'all'
        AND run.status IN ('Starting', 'Running') AND run.cancel_requested_at IS NULL`);
  return cancelled;
}
