import sql from 'sql-template-tag';
import type { Transaction } from '../../platform/postgres/database.ts';
import { addDelivered } from '../ledger/deliveries.ts';
import type { Engine } from '../engine.ts';
import { followCompletedRuns } from '../health/follow_completed_runs.ts';
import type { Interval } from '../planning/interval.ts';
import { fromStored } from '../ledger/ledger.ts';
import { openOrder, receiptText } from './run_input.ts';
import { probe } from './count_windows.ts';
import type { Parted } from './count_windows.ts';
import { writeRunLogs } from '../run_log.ts';
import type { ClaimedRun } from '../run.ts';

/**
 * A planned run that nobody has taken or looked at, with what a worker would take of its export
 * now.
 */
type UnseenRun = ClaimedRun & {
  is_make_up: boolean;
  records_completed: number;
  interval: Interval;
  timezone: string;
};

/** Parts runs as `probe` does. */
type Look = (runs: UnseenRun[]) => Promise<Parted<UnseenRun>>;

/**
 * Few enough that the locks of one turn are short, many enough that thousands are done in seconds.
 */
const runs_per_turn_max = 1_000;

/**
 * First key of the advisory locks of a turn; the second is its lane. Two processes that looked at
 * the same runs would do the same work.
 */
const empty_runs_lock_class = 7_301_022;

/**
 * The exports are parted by a hash into lanes, a power of two of them: so many processes complete
 * runs at the same time, and the runs of one export stay in one lane.
 */
const lanes = [0, 1, 2, 3];

/**
 * Completes planned runs whose selection has no rows, many in one transaction and without the
 * destination; gives how many were looked at. Guarantees: the end is the same as a worker's, with
 * receipt, ledger, log and health; a run that has rows, or whose end has to be told to somebody, is
 * left to the workers, and is looked at once only. Any number of processes may call this.
 *
 * The events and persons of a selection are final when its run is planned, so what the analytics
 * store is asked here stays true until the transaction ends.
 */
export async function completeEmptyRuns(
  engine: Engine,
  look: Look = (runs) => probe(engine.clickhouse, runs),
): Promise<number> {
  // In any order, so that processes seldom begin at the same one.
  const order = lanes
    .map((lane) => ({ lane, rank: Math.random() }))
    .toSorted((one, other) => one.rank - other.rank);
  for (const { lane } of order) {
    const looked_at = await completeLane(engine, look, lane);
    if (looked_at > 0) return looked_at;
  }
  return 0;
}

async function completeLane(engine: Engine, look: Look, lane: number): Promise<number> {
  const { completed, for_workers } = await engine.db.transaction(async (tx) => {
    const turn = await tx.row<{ is_ours: boolean }>(
      sql`SELECT pg_try_advisory_xact_lock(${empty_runs_lock_class}::integer,
        ${lane}::integer) AS is_ours`,
    );
    const unseen = turn?.is_ours === true ? await listUnseen(tx, lane) : [];
    if (unseen.length === 0) return { completed: [], for_workers: [] };
    const { quiet, small, busy } = await look(onePerExport(unseen));
    const { receipts, unreadable } = signAll(engine, await hold(tx, quiet));
    const { followed, to_be_told } = await followCompletedRuns(tx, [...receipts.keys()]);
    await complete(tx, followed, receipts);
    const rest = [...small, ...unreadable, ...to_be_told];
    await leaveToWorkers(tx, rest, { is_small: true });
    await leaveToWorkers(tx, busy, { is_small: false });
    return { completed: followed, for_workers: [...rest, ...busy] };
  });
  for (const run of completed)
    engine.metrics.runs_finished.inc({ status: 'Completed', destination: run.destination_type });
  return completed.length + for_workers.length;
}

async function listUnseen(tx: Transaction, lane: number): Promise<UnseenRun[]> {
  // The index batch_export_runs_unseen has exactly these, in this order, of all lanes.
  return tx.rows<UnseenRun>(sql`
    SELECT run.id, run.batch_export_id, run.delivery_id, run.revision, run.attempt, run.failures,
      run.data_interval_start, run.data_interval_end,
      run.selection, run.records_total_count, run.cancel_requested_at, run.committing_at,
        run.receipt, run.backfill_id, run.team_id, run.is_make_up, run.is_small,
        0 AS records_completed, run.break_offs,
      export.model, export.custom_query, export.destination_type, export.destination_config,
        export.destination_secrets,
      export.revision AS export_revision, export.deleted_at IS NOT NULL AS is_deleted,
        export."interval", export.timezone
    FROM batch_export_runs run JOIN batch_exports export ON export.id = run.batch_export_id
    WHERE run.status = 'Starting' AND run.attempt = 0 AND run.worker_id IS NULL
      AND run.backfill_id IS NULL AND NOT run.needs_worker
      AND (uuid_hash(run.batch_export_id) & ${lanes.length - 1}) = ${lane}
    ORDER BY run.created_at LIMIT ${runs_per_turn_max}`);
}

/**
 * The ledger and the health of an export change by one run at a time, the earliest first; its
 * others have their turn next.
 */
function onePerExport(planned: UnseenRun[]): UnseenRun[] {
  const first = new Map<string, UnseenRun>();
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

/** Of the runs those that are still as they were seen; they stay so until the transaction ends. */
async function hold(tx: Transaction, runs: UnseenRun[]): Promise<UnseenRun[]> {
  if (runs.length === 0) return [];
  // The export's row is the lock of its ledger and health and is taken before the run's everywhere.
  // SKIP LOCKED: what somebody is changing is looked at again later, and nobody is waited for.
  const exports = await tx.rows<{ id: string; revision: number }>(sql`
    SELECT id, revision FROM batch_exports WHERE id = ANY
      (${runs.map((run) => run.batch_export_id)}::uuid[]) AND deleted_at IS NULL
      FOR UPDATE SKIP LOCKED`);
  const revisions = new Map(exports.map(({ id, revision }) => [id, revision]));
  const same = runs.filter(
    (run) =>
      revisions.get(run.batch_export_id) === run.revision && run.export_revision === run.revision,
  );
  const waiting = await tx.rows<{ id: string }>(sql`
    SELECT id FROM batch_export_runs
    WHERE id = ANY (${same.map((run) => run.id)}::uuid[]) AND status = 'Starting' AND attempt = 0
      AND worker_id IS NULL AND cancel_requested_at IS NULL FOR UPDATE SKIP LOCKED`);
  const ids = new Set(waiting.map(({ id }) => id));
  return same.filter((run) => ids.has(run.id));
}

/**
 * The receipts of runs without rows. A worker ends the run where one cannot be made, with what is
 * wrong.
 */
function signAll(
  engine: Engine,
  runs: UnseenRun[],
): { receipts: Map<UnseenRun, string>; unreadable: UnseenRun[] } {
  const receipts = new Map<UnseenRun, string>();
  for (const run of runs) {
    try {
      receipts.set(
        run,
        receiptText(engine, run, openOrder(engine, run), { slices: [], outcomes: [] }),
      );
    } catch (error) {
      engine.log.info({ err: error, run_id: run.id }, 'a run without rows is left to a worker');
    }
  }
  return { receipts, unreadable: runs.filter((run) => !receipts.has(run)) };
}

async function complete(
  tx: Transaction,
  runs: UnseenRun[],
  receipts: Map<UnseenRun, string>,
): Promise<void> {
  if (runs.length === 0) return;
  await tx.run(sql`
    UPDATE batch_export_runs run SET status = 'Completed', started_at = now(),
      committing_at = now(), finished_at = now(), last_updated_at = now(),
      records_total_count = 0, records_completed = 0, receipt = ended.receipt
    FROM unnest(${runs.map((run) => run.id)}::uuid[],
      ${runs.map((run) => receipts.get(run)!)}::text[]) AS ended (id, receipt)
      WHERE run.id = ended.id`);
  await addDelivered(
    tx,
    runs.map((run) => ({ ...run, selection: fromStored(run.selection) })),
  );
  const message = 'Run completed: there are no rows, so there was nothing to deliver.';
  await writeRunLogs(
    tx,
    runs.map((run) => ({
      batch_export_id: run.batch_export_id,
      run_id: run.id,
      level: 'INFO',
      message,
    })),
  );
}

async function leaveToWorkers(
  tx: Transaction,
  runs: UnseenRun[],
  { is_small }: { is_small: boolean },
): Promise<void> {
  if (runs.length === 0) return;
  // SKIP LOCKED: a worker has just taken the row, or somebody cancels it.
  await tx.run(sql`
    UPDATE batch_export_runs SET needs_worker = true, is_small = ${is_small}, due_at = created_at
      WHERE id IN (
      SELECT id FROM batch_export_runs WHERE id = ANY (${runs.map((run) => run.id)}::uuid[])
        AND status = 'Starting' AND attempt = 0 AND worker_id IS NULL FOR UPDATE SKIP LOCKED)`);
}
