import sql from 'sql-template-tag';
import type { Transaction } from '../../../platform/postgres/database.ts';
import type { Engine } from '../engine.ts';
import { openOrder, receiptText } from './run_input.ts';
import { probe } from './count_windows.ts';
import type { Look } from './count_windows.ts';
import { countEnded, endRuns } from './end_runs.ts';
import type { Ending } from './end_runs.ts';
import type { ClaimedRun } from '../../model/run.ts';
import { no_typed_fields } from '../../model/schema/run_columns.ts';

/** Few enough for short locks in one turn, many enough for thousands in seconds. */
const runs_per_turn_max = 1_000;

/**
 * First key of the advisory locks of a turn; the second is its lane. Without it, two processes
 * would do the same work on the same runs.
 */
const empty_runs_lock_class = 7_301_022;

/**
 * A hash assigns exports to lanes, a power of two of them. So this many processes complete runs at
 * the same time, and the runs of one export stay in one lane.
 */
const lane_count = 4;
const lane = sql`uuid_hash(run.batch_export_id) & ${lane_count - 1}`;

// The index batch_export_runs_unseen has these runs, of all lanes. A run that continues the commit
// of another run needs a worker, because the destination may show that run's rows.
const is_unseen = sql`run.status = 'Starting' AND run.attempt = 0 AND run.worker_id IS NULL
  AND run.backfill_id IS NULL AND NOT run.needs_worker AND run.committing_at IS NULL`;

/**
 * Completes planned runs without rows, many in one transaction and without the destination. Returns
 * how many were completed or left to the workers. Guarantees: the end equals a worker's, with
 * receipt, ledger, log, health and notices. A run with rows is left to the workers after one look.
 * A locked run waits for the next turn. Any number of processes may call this.
 *
 * The events and persons of a selection are final when its run is planned, so the analytics store's
 * answer stays true until the transaction ends.
 */
export async function completeEmptyRuns(
  engine: Engine,
  look: Look = (runs) => probe(engine.clickhouse, runs),
): Promise<number> {
  // In random order, so that processes seldom start with the same lane.
  const waiting = await engine.db.rows<{ lane: number }>(sql`
    SELECT ${lane} AS lane FROM batch_export_runs run WHERE ${is_unseen}
    GROUP BY 1 ORDER BY random()`);
  for (const next of waiting) {
    const done = await completeLane(engine, look, next.lane);
    if (done > 0) return done;
  }
  return 0;
}

async function completeLane(engine: Engine, look: Look, number: number): Promise<number> {
  const { ended, left } = await engine.db.transaction(async (tx) => {
    const turn = await tx.row<{ is_ours: boolean }>(
      sql`SELECT pg_try_advisory_xact_lock(${empty_runs_lock_class}::integer,
        ${number}::integer) AS is_ours`,
    );
    const unseen = turn?.is_ours === true ? await listUnseen(tx, number) : [];
    if (unseen.length === 0) return { ended: [], left: 0 };
    const { empty, small, busy } = await look(onePerExport(unseen));
    const { endings, unreadable } = signAll(engine, empty);
    const ended = await endRuns(engine, tx, endings, 'skips');
    const left =
      (await leaveToWorkers(tx, [...small, ...unreadable], { is_small: true })) +
      (await leaveToWorkers(tx, busy, { is_small: false }));
    return { ended, left };
  });
  countEnded(engine, ended);
  return ended.length + left;
}

async function listUnseen(tx: Transaction, number: number): Promise<ClaimedRun[]> {
  return tx.rows<ClaimedRun>(sql`
    SELECT run.id, run.batch_export_id, run.delivery_id, run.revision, run.attempt, run.failures,
      run.data_interval_start, run.data_interval_end,
      run.selection, run.records_total_count, run.cancel_requested_at, run.committing_at,
        run.receipt, run.backfill_id, run.team_id, run.is_small, run.break_offs,
      export.model, export.custom_query, export.write_rule, ${no_typed_fields},
        export.destination_type,
        export.destination_config, export.destination_secrets, export.timezone,
      export.revision AS export_revision, export.deleted_at IS NOT NULL AS is_deleted,
      run.steps, run.replaces, NULL AS rejection
    FROM batch_export_runs run JOIN batch_exports export ON export.id = run.batch_export_id
    WHERE ${is_unseen} AND (${lane}) = ${number}
    ORDER BY run.created_at LIMIT ${runs_per_turn_max}`);
}

/**
 * One run at a time changes the ledger and the health of an export, the earliest first; the others
 * follow in the next turn.
 */
function onePerExport(planned: ClaimedRun[]): ClaimedRun[] {
  const first = new Map<string, ClaimedRun>();
  for (const run of planned) {
    const known = first.get(run.batch_export_id);
    if (
      known === undefined ||
      Date.parse(run.data_interval_end) < Date.parse(known.data_interval_end)
    )
      first.set(run.batch_export_id, run);
  }
  return [...first.values()];
}

/**
 * Returns the ends of runs without rows, with their receipts. If no receipt can be created, a
 * worker ends the run with the reason.
 */
function signAll(
  engine: Engine,
  runs: ClaimedRun[],
): { endings: Ending[]; unreadable: ClaimedRun[] } {
  const endings: Ending[] = [];
  const unreadable: ClaimedRun[] = [];
  for (const run of runs) {
    try {
      const receipt = receiptText(engine, run, openOrder(engine, run));
      endings.push({ run, end: { status: 'Completed' }, receipt });
    } catch (error) {
      engine.log.info({ err: error, run_id: run.id }, 'a run without rows is left to a worker');
      unreadable.push(run);
    }
  }
  return { endings, unreadable };
}

async function leaveToWorkers(
  tx: Transaction,
  runs: ClaimedRun[],
  { is_small }: { is_small: boolean },
): Promise<number> {
  if (runs.length === 0) return 0;
  // SKIP LOCKED: a worker has just claimed the row, or somebody cancels it.
  return tx.run(sql`
    UPDATE batch_export_runs SET needs_worker = true, is_small = ${is_small}, due_at = created_at
      WHERE id IN (
      SELECT id FROM batch_export_runs WHERE id = ANY (${runs.map((run) => run.id)}::uuid[])
        AND status = 'Starting' AND attempt = 0 AND worker_id IS NULL FOR UPDATE SKIP LOCKED)`);
}
