import { setImmediate as letOthers } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { isoInstant } from '../../../platform/clock.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { addDelivered } from '../../model/ledger/ledger.ts';
import type { Engine } from '../engine.ts';
import { toStored } from '../../model/ledger/rectangles.ts';
import type { Rectangle, StoredRectangle } from '../../model/ledger/rectangles.ts';
import type { LockedExport } from '../planning/backfill.ts';
import { hostOf } from '../planning/plan.ts';
import { openOrder, receiptText } from './run_input.ts';
import type { Order } from './run_input.ts';

/** Signing blocks this thread; after this many receipts, other work gets a turn. */
const receipts_per_turn = 100;

/** A run that has no rows. */
export type EmptyRun = { from: number; to: number; selection: Rectangle[] };

/** Creates a run without rows for an export, with its receipt, in stored form. */
export type Receipts = {
  of: LockedExport;
  backfill_id: string | null;
  sign(run: EmptyRun): SignedRun;
};

/** A run without rows in stored form: completed, with its receipt. */
export type SignedRun = {
  id: string;
  of: Pick<LockedExport, 'id' | 'team_id' | 'revision'>;
  host: string | null;
  backfill_id: string | null;
  start: string;
  end: string;
  selection: StoredRectangle[];
  receipt: string;
};

/**
 * Prepares receipts for runs without rows, of a backfill or the schedule; it opens the destination
 * and its secrets once for all of them. Undefined if that fails: then a worker reports the reason.
 */
export function openReceipts(
  engine: Engine,
  of: LockedExport,
  backfill_id: string | null,
): Receipts | undefined {
  let order: Order;
  try {
    // Each run is signed with its own ids and times.
    const names = { id: '', delivery_id: '', data_interval_start: '', data_interval_end: '' };
    // Without rows, nothing is merged, and no column is filled.
    const columns = { schema_number: null, typed_columns: null, known_columns: null };
    const unwritten = { batch_export_id: of.id, attempt: 0, write_rule: null, ...columns };
    order = openOrder(engine, { ...of, ...names, ...unwritten });
  } catch (error) {
    engine.log.info({ err: error, backfill_id }, 'runs without rows are left to workers');
    return undefined;
  }
  // A backfill may have thousands of runs, and the host of runs that end at once does not matter.
  const host = backfill_id === null ? (hostOf(of) ?? null) : null;
  const sign = ({ from, to, selection: rectangles }: EmptyRun): SignedRun => {
    const [id, selection] = [uuidv7(), toStored(rectangles)];
    const [start, end] = [isoInstant(from), isoInstant(to)];
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
    return { id, of, host, backfill_id, start, end, selection, receipt };
  };
  return { of, backfill_id, sign };
}

/**
 * Stores runs of a backfill without rows as workers would leave them: completed, with receipts and
 * in the ledger, but without lines in the log. It does not contact the destination. The caller
 * holds the lock on the export's row.
 */
export async function insertEmptyRuns(
  tx: Transaction,
  { of, sign }: Receipts,
  empty: EmptyRun[],
): Promise<void> {
  if (empty.length === 0) return;
  await insertSigned(tx, [...(await signAll(empty, sign)).values()]);
  const selection = empty.flatMap((run) => run.selection);
  await addDelivered(tx, [{ batch_export_id: of.id, revision: of.revision, selection }]);
}

/** Signs runs and yields to the event loop meanwhile; omits runs that `sign` does not sign. */
export async function signAll<Run>(
  runs: Run[],
  sign: (run: Run) => SignedRun | undefined,
): Promise<Map<Run, SignedRun>> {
  const signed = new Map<Run, SignedRun>();
  for (const [index, run] of runs.entries()) {
    if (index % receipts_per_turn === 0) await letOthers();
    const one = sign(run);
    if (one !== undefined) signed.set(run, one);
  }
  return signed;
}

/**
 * Writes completed runs without source rows, with their receipts, and returns the ids of the new
 * ones. The caller applies the consequences. Skips a scheduled run whose interval already has one.
 */
export async function insertSigned(tx: Transaction, runs: SignedRun[]): Promise<Set<string>> {
  // As lines, because JSON text contains no line feed. An array of texts would be escaped, which
  // costs more than the receipts.
  const lines = (value: (run: SignedRun) => string) => runs.map(value).join('\n');
  const inserted = await tx.rows<{ id: string }>(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, host, revision, backfill_id,
      delivery_id, status, data_interval_start, data_interval_end, selection, records_completed,
      records_total_count, started_at, committing_at, finished_at, receipt)
    SELECT run.id::uuid, run.batch_export_id, run.team_id, run.host, run.revision, run.backfill_id,
      run.id::uuid, 'Completed', run.start_at::timestamptz, run.end_at::timestamptz,
      run.selection::jsonb, 0, 0, now(), now(), now(), run.receipt
    FROM unnest(string_to_array(${lines(({ id }) => id)}, chr(10)),
      ${runs.map(({ of }) => of.id)}::uuid[], ${runs.map(({ of }) => of.team_id)}::int[],
      ${runs.map(({ host }) => host)}::text[], ${runs.map(({ of }) => of.revision)}::int[],
      ${runs.map(({ backfill_id }) => backfill_id)}::uuid[],
      string_to_array(${lines(({ start }) => start)}, chr(10)),
      string_to_array(${lines(({ end }) => end)}, chr(10)),
      string_to_array(${lines(({ selection }) => JSON.stringify(selection))}, chr(10)),
      string_to_array(${lines(({ receipt }) => receipt)}, chr(10))) AS run (id, batch_export_id,
        team_id, host, revision, backfill_id, start_at, end_at, selection, receipt)
    ON CONFLICT DO NOTHING RETURNING id`);
  return new Set(inserted.map(({ id }) => id));
}
