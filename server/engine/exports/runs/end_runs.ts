import sql from 'sql-template-tag';
import { batchCalls } from '../../../platform/pacing/batched_calls.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { findDestination } from '../../destinations/index.ts';
import type { Engine } from '../engine.ts';
import { followRuns } from '../health/follow_runs.ts';
import type { FollowedRun } from '../health/follow_runs.ts';
import { addDelivered } from '../../model/ledger/ledger.ts';
import { fromStored } from '../../model/ledger/rectangles.ts';
import type { Interval } from '../planning/interval.ts';
import { makeUp } from '../planning/make_up.ts';
import { LostRunError } from '../../model/run.ts';
import { rowSeconds } from './row_ages.ts';
import { markGenerations } from './generations.ts';
import type { ClaimedRun, RowAges, RunEnd } from '../../model/run.ts';
import { step_rest_ms, writeRunLogs } from '../../model/run_log.ts';
import type { LogLevel } from '../../model/run_log.ts';

/** The end of a run. `receipt`: for a run without rows that no worker has claimed. */
export type Ending = { run: ClaimedRun; end: RunEnd; receipt?: string };

/** Treatment of rows that another session has locked. */
type OnLocked = 'waits' | 'skips';

/** The facts of an export under the lock on its row. */
type LockedExport = {
  id: string;
  revision: number;
  interval: Interval;
  timezone: string;
  paused: boolean;
  is_deleted: boolean;
};
type EndedRow = RowAges & {
  id: string;
  is_make_up: boolean;
  records_completed: number | null;
  records_rejected: number;
};

/**
 * Ends a worker's run, together with others that complete at the same time; throws `LostRunError`
 * if the worker no longer holds it. `show` runs first in the transaction of the end and commits
 * with it; the export is not locked meanwhile.
 */
export async function endRun(
  engine: Engine,
  run: ClaimedRun,
  end: RunEnd,
  show?: (tx: Transaction) => Promise<void>,
): Promise<void> {
  const ended = await (end.status === 'Completed' && show === undefined
    ? completeRun(engine, run)
    : endAlone(engine, { run, end }, show));
  countEnded(engine, [ended]);
}

const completed: RunEnd = { status: 'Completed' };

const completeRun = batchCalls<Engine, ClaimedRun, EndedRun>({
  together: async (engine, runs) => {
    const one_per_export = new Map(runs.map((run) => [run.batch_export_id, run]));
    const endings = [...one_per_export.values()].map((run) => ({ run, end: completed }));
    const ended = await engine.db.transaction((tx) => endRuns(engine, tx, endings, 'skips'));
    const done = new Map(ended.map((one) => [one.run.id, one]));
    return runs.map((run) => done.get(run.id));
  },
  alone: (engine, run) => endAlone(engine, { run, end: completed }),
  rest_ms: step_rest_ms,
});

async function endAlone(
  engine: Engine,
  ending: Ending,
  show?: (tx: Transaction) => Promise<void>,
): Promise<EndedRun> {
  return engine.db.transaction(async (tx) => {
    await show?.(tx);
    const [ended] = await endRuns(engine, tx, [ending], 'waits');
    if (ended === undefined) throw new LostRunError();
    return ended;
  });
}

/** Counts ended runs and the ages of their rows, after their transaction. */
export function countEnded({ metrics }: Engine, ended: EndedRun[]): void {
  for (const { run, end, oldest_row_seconds } of ended) {
    const destination = run.destination_type;
    metrics.runs_finished.inc({ status: end.status, destination });
    const is_of_schedule = run.backfill_id === null && run.replaces === null;
    if (is_of_schedule && oldest_row_seconds !== null)
      metrics.export_freshness_seconds.observe({ destination }, oldest_row_seconds);
  }
}

/**
 * Ends planned runs, at most one of each export, and returns those that ended. No other code does.
 * Completed adds the selection to the ledger. Every other end releases the selection, unless the
 * commit had begun: then it stays taken, because the destination may show it, and only a retry of
 * this run resolves it. A run that shows nothing has delivered no rows. Ledgers, log and health of
 * the exports commit together with the ends. Skips, with nothing changed, runs that others hold,
 * and unclaimed runs that are no longer wanted.
 */
export async function endRuns(
  engine: Engine,
  tx: Transaction,
  endings: Ending[],
  on_locked: OnLocked,
): Promise<EndedRun[]> {
  if (endings.length === 0) return [];
  // The lock on the export's row protects its ledger and health; all code takes it before the run's
  // lock.
  const exports = await tx.rows<LockedExport>(sql`
    SELECT id, revision, "interval", timezone, paused, deleted_at IS NOT NULL AS is_deleted
    FROM batch_exports WHERE id = ANY (${endings.map(({ run }) => run.batch_export_id)}::uuid[])
    FOR UPDATE ${unlocked(on_locked)}`);
  const known = new Map(exports.map((row) => [row.id, row]));
  const wanted = endings.filter(({ run }) => isWanted(run, known.get(run.batch_export_id)));
  const rows = new Map((await writeEnds(tx, wanted, on_locked)).map((row) => [row.id, row]));
  const ended = wanted
    .filter(({ run }) => rows.has(run.id))
    .map((ending) => ({
      ...rows.get(ending.run.id)!,
      ...ending,
      export: known.get(ending.run.batch_export_id)!,
    }));
  await enterEnds(engine, tx, ended);
  return ended;
}

/** A run whose row records its end. `receipt`: as in `Ending`. */
export type EndedRun = FollowedRun &
  Pick<Ending, 'receipt'> & { run: Pick<ClaimedRun, 'destination_type'> };

/**
 * Applies the consequences of stored ends, at most one of each export: ledgers, make-up runs, lines
 * of the log and the health of the exports. The caller holds the locks on their rows.
 */
export async function enterEnds(engine: Engine, tx: Transaction, ended: EndedRun[]): Promise<void> {
  if (ended.length === 0) return;
  const done = ended.filter(({ end }) => end.status === 'Completed').map(({ run }) => run);
  await addDelivered(
    tx,
    done.map((run) => ({ ...run, selection: fromStored(run.selection) })),
  );
  await markGenerations(tx, done);
  for (const { run, end } of ended) if (end.status !== 'Completed') await makeUp(tx, run);
  await writeRunLogs(tx, ended.map(lineOf));
  await followRuns(engine, tx, ended);
}

function unlocked(on_locked: OnLocked): ReturnType<typeof sql> {
  return on_locked === 'skips' ? sql`SKIP LOCKED` : sql``;
}

/** A worker ends its runs in any case; an unclaimed run only ends if a worker would deliver it. */
function isWanted(run: ClaimedRun, row: LockedExport | undefined): boolean {
  if (row === undefined) return false;
  return run.attempt > 0 || (!row.is_deleted && row.revision === run.revision);
}

async function writeEnds(
  tx: Transaction,
  endings: Ending[],
  on_locked: OnLocked,
): Promise<EndedRow[]> {
  const errors = endings.map(({ end }) => (end.status === 'Completed' ? null : end));
  const keeps_rows = endings.map(
    ({ run, end }) =>
      end.status === 'Completed' || findDestination(run.destination_type)?.shows_as_written,
  );
  // The attempt number fences off a worker that was believed dead: its statement updates no row.
  return tx.rows<EndedRow>(sql`
    WITH ended AS MATERIALIZED (
      SELECT * FROM unnest(${endings.map(({ run }) => run.id)}::uuid[],
        ${endings.map(({ run }) => run.attempt)}::int[],
        ${endings.map(({ end }) => end.status)}::text[],
        ${errors.map((error) => error?.code ?? null)}::text[],
        ${errors.map((error) => error?.message ?? null)}::text[],
        ${endings.map(({ receipt }) => receipt ?? null)}::text[],
        ${keeps_rows.map((keeps) => keeps === true)}::boolean[],
        ${endings.map(({ run }) => JSON.stringify(run.steps))}::jsonb[])
        AS ended (id, attempt, status, code, message, receipt, keeps_rows, steps)
    ), held AS MATERIALIZED (
      SELECT run.id FROM batch_export_runs run JOIN ended USING (id, attempt)
      WHERE run.status IN ('Starting', 'Running')
        AND (run.attempt > 0 OR run.cancel_requested_at IS NULL)
      FOR NO KEY UPDATE OF run ${unlocked(on_locked)}
    )
    UPDATE batch_export_runs run SET status = ended.status, error_code = ended.code,
      latest_error = ended.message, steps = ended.steps, finished_at = now(),
      last_updated_at = now(),
      receipt = coalesce(ended.receipt, run.receipt), started_at = coalesce(run.started_at, now()),
      committing_at = CASE WHEN ended.receipt IS NULL THEN run.committing_at ELSE now() END,
      records_total_count = CASE WHEN ended.receipt IS NULL THEN run.records_total_count
        ELSE 0 END,
      records_completed = CASE WHEN ended.receipt IS NOT NULL THEN 0
        WHEN ended.keeps_rows OR run.committing_at IS NOT NULL THEN run.records_completed
        WHEN run.records_completed IS NOT NULL THEN 0 END,
      records_rejected = CASE WHEN ended.keeps_rows OR run.committing_at IS NOT NULL
        THEN run.records_rejected ELSE 0 END,
      bytes_completed = CASE
        WHEN ended.keeps_rows OR run.committing_at IS NOT NULL THEN run.bytes_completed
        WHEN run.bytes_completed IS NOT NULL THEN 0 END,
      "cursor" = CASE WHEN ended.keeps_rows OR run.committing_at IS NOT NULL THEN run."cursor" END,
      model = NULL, custom_query = NULL, destination_type = NULL, destination_config = NULL,
      destination_secrets = NULL
    FROM ended JOIN held USING (id) WHERE run.id = ended.id
    RETURNING run.id, run.is_make_up, run.records_completed, run.records_rejected,
      ${rowSeconds(sql`run`, sql`run.oldest_inserted_at`)} AS oldest_row_seconds,
      ${rowSeconds(sql`run`, sql`run.newest_inserted_at`)} AS newest_row_seconds`);
}

function lineOf({ run, end, receipt }: EndedRun): {
  batch_export_id: string;
  run_id: string;
  level: LogLevel;
  message: string;
} {
  const of = { batch_export_id: run.batch_export_id, run_id: run.id };
  if (end.status === 'Completed')
    return {
      ...of,
      level: 'INFO',
      message:
        receipt === undefined
          ? 'Run completed.'
          : 'Run completed: there are no rows, so there was nothing to deliver.',
    };
  return {
    ...of,
    level: end.status === 'Cancelled' ? 'WARNING' : 'ERROR',
    message: `Run ended as ${end.status}: ${end.message}`,
  };
}
