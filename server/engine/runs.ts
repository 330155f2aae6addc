import sql from 'sql-template-tag';
import type { Transaction } from '../platform/postgres/database.ts';
import { addDelivered } from './deliveries.ts';
import type { SliceOutcome } from './destination.ts';
import { findDestination } from './destinations/index.ts';
import type { Engine } from './engine.ts';
import { followRun } from './health/follow_run.ts';
import { fromStored } from './ledger.ts';
import { makeUp } from './make_up.ts';
import type { StoredRectangle } from './ledger.ts';
import { writeRunLog } from './run_log.ts';

/** After this many failed attempts a run is given up as FailedRetryable. */
export const attempts_max = 15;

/** A run in the hands of one worker. `attempt` is its hold: a statement that finds another number there changes nothing. */
export type ClaimedRun = {
  id: string;
  batch_export_id: string;
  delivery_id: string;
  revision: number;
  attempt: number;
  failures: number;
  /** How many workers ended without a word while they had it, since it last got further. */
  break_offs: number;
  data_interval_start: string;
  data_interval_end: string;
  selection: StoredRectangle[];
  records_total_count: number | null;
  cancel_requested_at: string | null;
  committing_at: string | null;
  receipt: string | null;
  backfill_id: string | null;
  team_id: number;
  model: 'events' | 'persons';
  custom_query: string | null;
  destination_type: string;
  destination_config: Record<string, unknown> | null;
  destination_secrets: Buffer | null;
  export_revision: number;
  is_deleted: boolean;
};

/** Thrown when another worker has taken the run, or its row is gone: stop without recording anything. */
export class LostRunError extends Error {
  constructor() {
    super('The run is no longer in the hands of this worker.');
    this.name = 'LostRunError';
  }
}

/** How a run may end. */
export type RunEnd = { status: 'Completed' } | { status: 'Failed' | 'FailedRetryable' | 'Cancelled'; code: string; message: string };

/** A slice as it is stored: its bounds by insertion time (null: all rows of the run), its count at the source, and what was written once it is safe. */
export type StoredSlice = { number: number; inserted_from: string | null; inserted_to: string | null; records: number; outcome: SliceOutcome | null };

/** The slices of a run in order; none when they have not been cut. */
export async function listSlices(engine: Engine, runId: string): Promise<StoredSlice[]> {
  return engine.db.rows<StoredSlice>(sql`
    SELECT number, inserted_from, inserted_to, records, outcome FROM batch_export_slices WHERE run_id = ${runId} ORDER BY number`);
}

/** Stores the cut of a run once, together with its total; a later attempt works from the same cut. */
export async function storeSlices(engine: Engine, run: ClaimedRun, slices: StoredSlice[]): Promise<void> {
  const total = slices.reduce((sum, slice) => sum + slice.records, 0);
  // One statement, fenced like `hold`: without the run's row there is nothing to insert beside.
  const held = await engine.db.row(sql`
    WITH held AS (
      UPDATE batch_export_runs SET records_total_count = ${total}, records_completed = 0, silent_workers = '{}', last_updated_at = now()
      WHERE id = ${run.id} AND attempt = ${run.attempt} AND status = 'Running' RETURNING id
    ), cut AS (
      INSERT INTO batch_export_slices (run_id, number, inserted_from, inserted_to, records)
      SELECT held.id, slice.number, slice.inserted_from, slice.inserted_to, slice.records
      FROM held, jsonb_to_recordset(${JSON.stringify(slices)}::jsonb) AS slice(number int, inserted_from timestamptz, inserted_to timestamptz, records bigint)
    )
    SELECT id FROM held`);
  if (held === undefined) throw new LostRunError();
}

/** Records which slices are safe at the destination: exactly the given ones. Rows, bytes and cursor of the run follow from them. */
export async function storeProgress(engine: Engine, run: ClaimedRun, outcomes: SliceOutcome[]): Promise<void> {
  const latest = outcomes.at(-1);
  await engine.db.transaction(async (tx) => {
    await holdProgress(tx, run, outcomes);
    if (latest !== undefined)
      await tx.run(sql`UPDATE batch_export_slices SET outcome = ${JSON.stringify(latest)} WHERE run_id = ${run.id} AND number = ${latest.number}`);
  });
}

/** Forgets slices that did not survive at the destination, so that they are written again. */
export async function resetProgress(engine: Engine, run: ClaimedRun, surviving: SliceOutcome[]): Promise<void> {
  const numbers = surviving.map((outcome) => outcome.number);
  await engine.db.transaction(async (tx) => {
    await holdProgress(tx, run, surviving);
    await tx.run(sql`UPDATE batch_export_slices SET outcome = NULL WHERE run_id = ${run.id} AND number <> ALL (${numbers}::int[]) AND outcome IS NOT NULL`);
  });
}

async function holdProgress(tx: Transaction, run: ClaimedRun, outcomes: SliceOutcome[]): Promise<void> {
  const records = outcomes.reduce((sum, outcome) => sum + outcome.records, 0);
  const bytes = outcomes.reduce((sum, outcome) => sum + outcome.bytes, 0);
  await hold(
    tx,
    run,
    sql`records_completed = ${records}, bytes_completed = ${bytes}, "cursor" = ${outcomes.length === 0 ? null : String(outcomes.length)},
    silent_workers = CASE WHEN ${outcomes.length} > slices_safe_max THEN '{}' ELSE silent_workers END, slices_safe_max = greatest(slices_safe_max, ${outcomes.length})`,
  );
}

/**
 * Stores the receipt and marks the point of no return: from here on the destination may show the delivery. False when a cancel came first; then nothing was marked.
 */
export async function beginCommit(engine: Engine, run: ClaimedRun, receipt: string): Promise<boolean> {
  // One statement decides between a cancel and this: who changes the row first wins.
  const marked = await engine.db.run(sql`
    UPDATE batch_export_runs SET receipt = ${receipt}, committing_at = now(), silent_workers = CASE WHEN committing_at IS NULL THEN '{}' ELSE silent_workers END, last_updated_at = now()
    WHERE id = ${run.id} AND attempt = ${run.attempt} AND status = 'Running' AND (cancel_requested_at IS NULL OR committing_at IS NOT NULL)`);
  if (marked === 1) return true;
  if (await isHeld(engine, run)) return false;
  throw new LostRunError();
}

/** Notes that the commit was refused and the destination shows nothing: the run can be cancelled again, and its selection is given back when it ends. Only for the attempt that began the commit. */
export async function takeCommitBack(engine: Engine, run: ClaimedRun): Promise<void> {
  const taken = await engine.db.run(sql`
    UPDATE batch_export_runs SET committing_at = NULL, last_updated_at = now() WHERE id = ${run.id} AND attempt = ${run.attempt} AND status = 'Running'`);
  if (taken === 0) throw new LostRunError();
}

async function isHeld(engine: Engine, run: ClaimedRun): Promise<boolean> {
  return (await engine.db.row(sql`SELECT 1 FROM batch_export_runs WHERE id = ${run.id} AND attempt = ${run.attempt} AND status = 'Running'`)) !== undefined;
}

async function hold(tx: Transaction, run: ClaimedRun, assignments: ReturnType<typeof sql>): Promise<void> {
  // The attempt number fences a worker that was believed dead: its statement touches no row.
  const touched = await tx.run(sql`
    UPDATE batch_export_runs SET ${assignments}, last_updated_at = now() WHERE id = ${run.id} AND attempt = ${run.attempt} AND status = 'Running'`);
  if (touched === 0) throw new LostRunError();
}

const without_rows = sql`
  records_completed = CASE WHEN committing_at IS NULL AND records_completed IS NOT NULL THEN 0 ELSE records_completed END,
  bytes_completed = CASE WHEN committing_at IS NULL AND bytes_completed IS NOT NULL THEN 0 ELSE bytes_completed END,
  "cursor" = CASE WHEN committing_at IS NULL THEN NULL ELSE "cursor" END,`;

/**
 * The one place where a worker's run ends. Completed adds its selection to the ledger in the same transaction; every other end gives the selection back, unless
 * the commit had begun: then it stays taken, because the destination may show it, and only a retry of this run settles it. A run that shows nothing has delivered no rows. The health of the export follows in the
 * same transaction.
 */
export async function endRun(engine: Engine, run: ClaimedRun, end: RunEnd): Promise<void> {
  const error = end.status === 'Completed' ? null : end;
  const keepsRows = end.status === 'Completed' || findDestination(run.destination_type)?.shows_as_written === true;
  await engine.db.transaction(async (tx) => {
    // The export's row is the lock under which its ledger changes; it is taken before the run's row everywhere.
    await tx.row(sql`SELECT 1 FROM batch_exports WHERE id = ${run.batch_export_id} FOR UPDATE`);
    await hold(
      tx,
      run,
      sql`status = ${end.status}, finished_at = now(), latest_error = ${error?.message ?? null}, error_code = ${error?.code ?? null},
      ${keepsRows ? sql`` : without_rows}
      model = NULL, custom_query = NULL, destination_type = NULL, destination_config = NULL, destination_secrets = NULL`,
    );
    if (end.status === 'Completed') await addDelivered(tx, [{ ...run, selection: fromStored(run.selection) }]);
    else await makeUp(tx, run);
    await writeRunLog(tx, {
      batch_export_id: run.batch_export_id,
      run_id: run.id,
      level: end.status === 'Completed' ? 'INFO' : end.status === 'Cancelled' ? 'WARNING' : 'ERROR',
      message: error === null ? 'Run completed.' : `Run ended as ${end.status}: ${error.message}`,
    });
    await followRun(engine, tx, run, end);
  });
  engine.metrics.runs_finished.inc({ status: end.status, destination: run.destination_type });
}

/** Notes a failed attempt and lets the run wait for a worker again, not before a growing pause is over (2 s doubling to 2 min). */
export async function retryLater(engine: Engine, run: ClaimedRun, error: { code: string; message: string }): Promise<void> {
  const failures = run.failures + 1;
  const delay_seconds = Math.min(2 ** failures, 120);
  await engine.db.transaction(async (tx) => {
    // The export's row before the run's, as everywhere: the log line's foreign key would ask for it afterwards.
    await tx.row(sql`SELECT 1 FROM batch_exports WHERE id = ${run.batch_export_id} FOR KEY SHARE`);
    await hold(
      tx,
      run,
      sql`failures = ${failures}, latest_error = ${error.message}, error_code = ${error.code}, worker_id = NULL, due_at = now() + make_interval(secs => ${delay_seconds})`,
    );
    await writeRunLog(tx, {
      batch_export_id: run.batch_export_id,
      run_id: run.id,
      level: 'WARNING',
      message: `Attempt ${failures} of ${attempts_max} failed, the next follows in ${delay_seconds} s: ${error.message}`,
    });
  });
}
