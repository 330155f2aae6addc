import { setImmediate as letOthers } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../../platform/postgres/database.ts';
import { addDelivered } from '../ledger/ledger.ts';
import type { Engine } from '../engine.ts';
import { toStored } from '../ledger/rectangles.ts';
import type { Rectangle } from '../ledger/rectangles.ts';
import type { LockedExport } from '../planning/backfill.ts';
import { openOrder, receiptText } from './run_input.ts';
import type { Order } from './run_input.ts';

/** Signing is work of this thread; after so many receipts others have a turn. */
const receipts_per_turn = 100;

/** A run of a backfill that has no rows. */
export type EmptyRun = { from: number; to: number; selection: Rectangle[] };

/** Makes a run of an export's backfill that has no rows, with its receipt, as it is stored. */
export type Receipts = {
  of: LockedExport;
  backfill_id: string;
  sign(run: EmptyRun): SignedRun;
};

type SignedRun = { id: string; start: string; end: string; selection: string; receipt: string };

/**
 * What makes receipts of runs without rows; the destination and its secrets are opened once for all
 * of them. Undefined where that cannot be done: then a worker says what is wrong.
 */
export function openReceipts(
  engine: Engine,
  of: LockedExport,
  backfill_id: string,
): Receipts | undefined {
  let order: Order;
  try {
    // Each run is signed under its own names.
    const names = { id: '', delivery_id: '', data_interval_start: '', data_interval_end: '' };
    order = openOrder(engine, { ...of, ...names, batch_export_id: of.id, attempt: 0 });
  } catch (error) {
    engine.log.info({ err: error, backfill_id }, 'runs without rows are left to workers');
    return undefined;
  }
  const sign = ({ from, to, selection: rectangles }: EmptyRun): SignedRun => {
    const [id, selection] = [uuidv7(), toStored(rectangles)];
    const [start, end] = [new Date(from).toISOString(), new Date(to).toISOString()];
    const names = {
      run_id: id,
      delivery_id: id,
      data_interval_start: start,
      data_interval_end: end,
    };
    const delivery = { ...order.delivery, ...names };
    const receipt = receiptText(
      engine,
      { ...of, selection, replaces: null },
      { ...order, delivery },
    );
    return { id, start, end, selection: JSON.stringify(selection), receipt };
  };
  return { of, backfill_id, sign };
}

/**
 * Stores runs of a backfill that have no rows, as workers would leave them: completed, with
 * receipts and in the ledger, but without lines in the log. The destination is not contacted. The
 * caller holds the lock on the export's row.
 */
export async function insertEmptyRuns(
  tx: Transaction,
  { of, backfill_id, sign }: Receipts,
  empty: EmptyRun[],
): Promise<void> {
  if (empty.length === 0) return;
  const runs: SignedRun[] = [];
  for (const run of empty) {
    if (runs.length % receipts_per_turn === 0) await letOthers();
    runs.push(sign(run));
  }
  // As lines, because JSON text has no line feed in it and an array of texts would be escaped,
  // which costs more than the receipts.
  const lines = (field: keyof SignedRun) => runs.map((run) => run[field]).join('\n');
  await tx.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, backfill_id, delivery_id,
      status, data_interval_start, data_interval_end, selection, records_completed,
      records_total_count, started_at, committing_at, finished_at, receipt)
    SELECT run.id::uuid, ${of.id}, ${of.team_id}, ${of.revision}, ${backfill_id}, run.id::uuid,
      'Completed',
      run.start_at::timestamptz, run.end_at::timestamptz, run.selection::jsonb, 0, 0, now(), now(),
        now(), run.receipt
    FROM unnest(string_to_array(${lines('id')}, chr(10)), string_to_array(${lines('start')},
      chr(10)),
      string_to_array(${lines('end')}, chr(10)), string_to_array(${lines('selection')}, chr(10)),
      string_to_array(${lines('receipt')}, chr(10))) AS run (id, start_at, end_at, selection,
        receipt)`);
  const selection = empty.flatMap((run) => run.selection);
  await addDelivered(tx, [{ batch_export_id: of.id, revision: of.revision, selection }]);
}
