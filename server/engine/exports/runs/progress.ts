import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { batchCalls } from '../../../platform/pacing/batched_calls.ts';
import type { Database, Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { rejectedCount } from '../../model/destination/rejected_rows.ts';
import type { SliceOutcome } from '../../model/destination/destination.ts';
import type { Engine } from '../engine.ts';
import { LostRunError, attempts_max } from '../../model/run.ts';
import type { ClaimedRun, StoredSlice } from '../../model/run.ts';
import { step_rest_ms, writeRunLog } from '../../model/run_log.ts';
import { insertionsOf } from './row_ages.ts';

/** Returns the slices of a run in order; an empty list if they have not been cut. */
export async function listSlices(engine: Engine, runId: string): Promise<StoredSlice[]> {
  return engine.db.rows<StoredSlice>(sql`
    SELECT number, inserted_from, inserted_to, key_from, key_to, partition, records, outcome
      FROM batch_export_slices WHERE run_id = ${runId} ORDER BY number`);
}

/** Stores the cut of a run once, with its total; later attempts use the same cut. */
export async function storeSlices(
  engine: Engine,
  run: ClaimedRun,
  slices: StoredSlice[],
): Promise<void> {
  if (!(await cut(engine.db, { run, slices }))) throw new LostRunError();
}

/**
 * Batches a step that many runs take at the same time into one statement, which returns the changed
 * ones. Only a locked row is waited for separately. False: the worker no longer holds the run, or
 * the run has another state.
 */
function step<Item extends { run: ClaimedRun }>(
  take: (db: Database, items: Item[], locking: Sql) => Promise<{ id: string; attempt: number }[]>,
): (db: Database, item: Item) => Promise<boolean> {
  return batchCalls<Database, Item, boolean>({
    together: async (db, items) => {
      const taken = await take(db, items, sql`FOR NO KEY UPDATE OF run SKIP LOCKED`);
      const keys = new Set(taken.map(({ id, attempt }) => `${id} ${attempt}`));
      return items.map(({ run }) => (keys.has(`${run.id} ${run.attempt}`) ? true : undefined));
    },
    // Without a lock of its own: the UPDATE waits and checks the row again.
    alone: async (db, item) => (await take(db, [item], sql``)).length > 0,
    rest_ms: step_rest_ms,
  });
}

const cut = step<{ run: ClaimedRun; slices: StoredSlice[] }>((db, items, locking) => {
  const cuts = items.map(({ run, slices }) => ({
    id: run.id,
    attempt: run.attempt,
    slices,
    steps: run.steps,
    total: slices.reduce((sum, slice) => sum + slice.records, 0),
    ...insertionsOf(slices),
  }));
  // Fenced like `hold`: without the run's row, nothing is inserted.
  return db.rows(sql`
    WITH wanted AS MATERIALIZED (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(cuts)}::jsonb) AS wanted (id uuid, attempt
        int, total bigint, slices jsonb, steps jsonb, oldest timestamptz, newest timestamptz)
    ), free AS MATERIALIZED (
      SELECT run.id FROM batch_export_runs run JOIN wanted ON wanted.id = run.id
        AND wanted.attempt = run.attempt WHERE run.status = 'Running' ${locking}
    ), held AS (
      UPDATE batch_export_runs run SET records_total_count = wanted.total, records_completed = 0,
        silent_workers = '{}', steps = wanted.steps, last_updated_at = now(),
        oldest_inserted_at = wanted.oldest, newest_inserted_at = wanted.newest
      FROM wanted WHERE run.id = wanted.id AND run.attempt = wanted.attempt
        AND run.status = 'Running' AND run.id IN (SELECT id FROM free) RETURNING run.id, run.attempt
    ), cut AS (
      INSERT INTO batch_export_slices (run_id, number, inserted_from, inserted_to, key_from, key_to,
        partition, records)
      SELECT held.id, slice.number, slice.inserted_from, slice.inserted_to, slice.key_from,
        slice.key_to, slice.partition, slice.records FROM held JOIN wanted ON wanted.id = held.id
        AND wanted.attempt = held.attempt
      CROSS JOIN jsonb_to_recordset(wanted.slices) AS slice (number int, inserted_from timestamptz,
        inserted_to timestamptz, key_from text, key_to text, partition jsonb, records bigint)
    )
    SELECT id, attempt FROM held`);
});

/**
 * Stores which slices are safe at the destination: exactly the given ones. Rows, bytes and cursor
 * of the run derive from them.
 */
export async function storeProgress(
  engine: Engine,
  run: ClaimedRun,
  outcomes: SliceOutcome[],
): Promise<void> {
  if (!(await advance(engine.db, { run, outcomes }))) throw new LostRunError();
}

const advance = step<{ run: ClaimedRun; outcomes: SliceOutcome[] }>((db, items, locking) => {
  const advances = items.map(({ run, outcomes }) => ({
    id: run.id,
    attempt: run.attempt,
    ...progressOf(outcomes),
    latest: outcomes.at(-1) ?? null,
    steps: run.steps,
  }));
  return db.rows(sql`
    WITH wanted AS MATERIALIZED (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(advances)}::jsonb) AS wanted (id uuid,
        attempt int, slices int, records bigint, rejected bigint, bytes bigint, latest jsonb,
        steps jsonb)
    ), free AS MATERIALIZED (
      SELECT run.id FROM batch_export_runs run JOIN wanted ON wanted.id = run.id
        AND wanted.attempt = run.attempt WHERE run.status = 'Running' ${locking}
    ), held AS (
      UPDATE batch_export_runs run SET records_completed = wanted.records,
        records_rejected = wanted.rejected, bytes_completed = wanted.bytes,
        "cursor" = nullif(wanted.slices, 0)::text, steps = wanted.steps,
        silent_workers = CASE WHEN wanted.slices > slices_safe_max THEN '{}'
          ELSE silent_workers END, slices_safe_max = greatest(slices_safe_max, wanted.slices),
          last_updated_at = now()
      FROM wanted WHERE run.id = wanted.id AND run.attempt = wanted.attempt
        AND run.status = 'Running' AND run.id IN (SELECT id FROM free) RETURNING run.id, run.attempt
    ), safe AS (
      UPDATE batch_export_slices slice SET outcome = wanted.latest FROM held JOIN wanted
        ON wanted.id = held.id AND wanted.attempt = held.attempt
      WHERE slice.run_id = held.id AND slice.number = (wanted.latest ->> 'number')::int
    )
    SELECT id, attempt FROM held`);
});

function progressOf(
  outcomes: SliceOutcome[],
): Record<'slices' | 'records' | 'rejected' | 'bytes', number> {
  const sum = (value: (outcome: SliceOutcome) => number) =>
    outcomes.reduce((total, outcome) => total + value(outcome), 0);
  return {
    slices: outcomes.length,
    records: sum(({ records }) => records),
    rejected: rejectedCount(outcomes),
    bytes: sum(({ bytes }) => bytes),
  };
}

/** Removes slices that were lost at the destination, so that they are written again. */
export async function resetProgress(
  engine: Engine,
  run: ClaimedRun,
  surviving: SliceOutcome[],
): Promise<void> {
  const numbers = surviving.map((outcome) => outcome.number);
  await engine.db.transaction(async (tx) => {
    const { slices, records, rejected, bytes } = progressOf(surviving);
    await hold(
      tx,
      run,
      sql`records_completed = ${records}, records_rejected = ${rejected},
        bytes_completed = ${bytes},
        "cursor" = ${slices === 0 ? null : String(slices)}`,
    );
    await tx.run(
      sql`UPDATE batch_export_slices SET outcome = NULL WHERE run_id = ${run.id}
        AND number <> ALL (${numbers}::int[]) AND outcome IS NOT NULL`,
    );
  });
}

/**
 * Stores the receipt and marks the point of no return: from now on the destination may show the
 * delivery. False if a cancel came first; nothing is marked then.
 */
export async function beginCommit(
  engine: Engine,
  run: ClaimedRun,
  receipt: string,
): Promise<boolean> {
  if (await mark(engine.db, { run, receipt })) return true;
  if ((await findHeld(engine, run)) !== undefined) return false;
  throw new LostRunError();
}

const mark = step<{ run: ClaimedRun; receipt: string }>((db, items, locking) => {
  const [ids, attempts, receipts, steps] = [
    items.map(({ run }) => run.id),
    items.map(({ run }) => run.attempt),
    items.map(({ receipt }) => receipt),
    items.map(({ run }) => JSON.stringify(run.steps)),
  ];
  // One statement decides between a cancel and this one: the first to change the row wins.
  return db.rows(sql`
    WITH wanted AS MATERIALIZED (
      SELECT * FROM unnest(${ids}::uuid[], ${attempts}::int[], ${receipts}::text[],
        ${steps}::jsonb[]) AS wanted (id, attempt, receipt, steps)
    ), free AS MATERIALIZED (
      SELECT run.id FROM batch_export_runs run JOIN wanted ON wanted.id = run.id
        AND wanted.attempt = run.attempt
      WHERE run.status = 'Running' AND (run.cancel_requested_at IS NULL
        OR run.committing_at IS NOT NULL) ${locking}
    )
    UPDATE batch_export_runs run SET receipt = wanted.receipt, committing_at = now(),
      steps = wanted.steps,
      silent_workers = CASE WHEN committing_at IS NULL THEN '{}'
      ELSE silent_workers END, last_updated_at = now()
    FROM wanted WHERE run.id = wanted.id AND run.attempt = wanted.attempt AND run.status = 'Running'
      AND (run.cancel_requested_at IS NULL OR run.committing_at IS NOT NULL)
      AND run.id IN (SELECT id FROM free) RETURNING run.id, run.attempt`);
});

/**
 * Records that the commit was refused and the destination shows nothing: the run can be cancelled
 * again, and its end releases the selection. Only for the attempt that began the commit.
 */
export function takeCommitBack(engine: Engine, run: ClaimedRun): Promise<void> {
  return hold(engine.db, run, sql`committing_at = NULL`);
}

/**
 * Records that the destination does not show the delivery, whichever of its runs began the commit:
 * the end of this run releases the selection.
 */
export async function giveDeliveryBack({ db }: Engine, run: ClaimedRun): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.row(sql`SELECT 1 FROM batch_exports WHERE id = ${run.batch_export_id} FOR UPDATE`);
    await hold(tx, run, sql`committing_at = NULL`);
    await releaseDelivery(tx, run);
  });
}

/**
 * Releases the selections of a delivery's ended runs, which the destination does not show. The
 * caller holds the lock on the export's row.
 */
export async function releaseDelivery(
  tx: Transaction,
  { batch_export_id, delivery_id }: Pick<ClaimedRun, 'batch_export_id' | 'delivery_id'>,
): Promise<void> {
  await tx.run(sql`
    UPDATE batch_export_runs SET committing_at = NULL, last_updated_at = now(),
      records_completed = 0, bytes_completed = 0, "cursor" = NULL
    WHERE batch_export_id = ${batch_export_id} AND committing_at IS NOT NULL
      AND (id = ${delivery_id} OR (delivery_id = ${delivery_id} AND id <> delivery_id))
      AND status NOT IN ('Starting', 'Running', 'Completed')`);
}

/** The current state of a claimed run and of its export. */
export type HeldRun = { is_committing: boolean; is_deleted: boolean; is_changed: boolean };

/**
 * Finds the current state of the run; undefined if this worker no longer holds it. A fenced-off
 * worker must not touch the destination.
 */
export function findHeld(engine: Engine, run: ClaimedRun): Promise<HeldRun | undefined> {
  return engine.db.row<HeldRun>(sql`
    SELECT run.committing_at IS NOT NULL AS is_committing,
      export.deleted_at IS NOT NULL AS is_deleted, export.revision <> run.revision AS is_changed
    FROM batch_export_runs run JOIN batch_exports export ON export.id = run.batch_export_id
    WHERE run.id = ${run.id} AND run.attempt = ${run.attempt} AND run.status = 'Running'`);
}

/** Matches the prefix before the error in a line of `retryLater`. */
export const failed_attempt = '^Attempt \\d+ of \\d+ failed, the next follows in \\d+ s: ';

/**
 * Records a failed attempt and returns the run to the queue after a growing pause (2 s doubling to
 * 2 min).
 */
export async function retryLater(
  engine: Engine,
  run: ClaimedRun,
  error: { code: string; message: string },
): Promise<void> {
  const failures = run.failures + 1;
  const delay_seconds = Math.min(2 ** failures, 120);
  await engine.db.transaction(async (tx) => {
    // Lock order: the export's row before the run's. The log line's foreign key would lock it too
    // late.
    await tx.row(sql`SELECT 1 FROM batch_exports WHERE id = ${run.batch_export_id} FOR KEY SHARE`);
    await hold(
      tx,
      run,
      sql`failures = ${failures}, latest_error = ${error.message}, error_code = ${error.code},
        worker_id = NULL, due_at = now() + make_interval(secs => ${delay_seconds}),
        steps = ${JSON.stringify(run.steps)}`,
    );
    await writeRunLog(tx, {
      batch_export_id: run.batch_export_id,
      run_id: run.id,
      level: 'WARNING',
      message:
        `Attempt ${failures} of ${attempts_max} failed, the next follows in ${delay_seconds} s: ` +
        error.message,
    });
  });
}

/** Changes the row of a run that this worker holds; otherwise throws `LostRunError`. */
async function hold(db: Queryable, run: ClaimedRun, assignments: Sql): Promise<void> {
  // The attempt number fences off a worker that was believed dead: its statement updates no row.
  const touched = await db.run(sql`
    UPDATE batch_export_runs SET ${assignments}, last_updated_at = now() WHERE id = ${run.id}
      AND attempt = ${run.attempt} AND status = 'Running'`);
  if (touched === 0) throw new LostRunError();
}
