import { createHash } from 'node:crypto';
import sql from 'sql-template-tag';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { fromStored } from '../../model/ledger/rectangles.ts';
import type { StoredRectangle } from '../../model/ledger/rectangles.ts';
import { insertRun } from '../../exports/planning/plan.ts';
import { writeRunLog } from '../../model/run_log.ts';
import type { Engine } from '../../exports/engine.ts';
import { destinations } from '../../destinations/index.ts';
import { eraseFromTables } from './erase_from_tables.ts';
import type { Erasure, StepEnd } from './erasure.ts';
import { counted } from '../../../platform/counted.ts';

/** Number of open runs of an erasure, so that scheduled runs can run in between. */
const open_max = 50;
/** Destinations whose tables are rewritten as a whole, not delivery by delivery. */
const in_tables = destinations
  .filter(({ erases }) => erases === 'in_table')
  .map(({ type }) => type);

type WaitingCopy = { delivery_id: string; batch_export_id: string; run_id: string };
type ReplacedRun = {
  id: string;
  revision: number;
  selection: StoredRectangle[];
  receipt: string | null;
  data_interval_start: string;
  data_interval_end: string;
  export_revision: number;
  is_deleted: boolean;
};

/**
 * Schedules runs that rewrite the copies: each run writes a delivery again in its place, without
 * the rows. It continues when the last run has ended. A copy that could not be rewritten is listed
 * for manual removal. May be repeated.
 */
export async function rewriteCopies(
  engine: Engine,
  erasure: Erasure,
  signal: AbortSignal,
): Promise<StepEnd> {
  const { db } = engine;
  await followRewriting(engine, erasure);
  const counts = await eraseFromTables(engine, erasure, signal);
  const standing = await db.row<{ waiting: number; rewriting: number }>(sql`
    SELECT count(*) FILTER (WHERE state = 'waiting') AS waiting,
      count(*) FILTER (WHERE state = 'rewriting') AS rewriting
    FROM erasure_copies WHERE erasure_id = ${erasure.id}`);
  const { waiting, rewriting } = standing!;
  if (waiting + rewriting === 0) return { step: 'scrub', detail: null, counts };
  const free = Math.max(0, open_max - rewriting);
  const copies = await db.rows<WaitingCopy>(sql`
    SELECT delivery_id, batch_export_id, run_id FROM erasure_copies
    WHERE erasure_id = ${erasure.id} AND state = 'waiting'
      AND destination_type <> ALL (${in_tables}::text[])
    ORDER BY delivery_id LIMIT ${free}`);
  for (const copy of copies) await db.transaction((tx) => beginRewriting(tx, erasure.id, copy));
  return {
    step: 'rewrite',
    detail: `${counted(waiting + rewriting, 'delivery')} to rewrite at destinations.`,
    wait_seconds: 2,
    counts,
  };
}

async function beginRewriting(
  tx: Transaction,
  erasure_id: string,
  { delivery_id, batch_export_id, run_id }: WaitingCopy,
): Promise<void> {
  // Lock order: the export's row before its runs.
  await tx.row(sql`SELECT 1 FROM batch_exports WHERE id = ${batch_export_id} FOR UPDATE`);
  const run = await tx.row<ReplacedRun>(sql`
    SELECT run.id, run.revision, run.selection, run.receipt, run.data_interval_start,
      run.data_interval_end, export.revision AS export_revision,
      export.deleted_at IS NOT NULL AS is_deleted
    FROM batch_export_runs run JOIN batch_exports export ON export.id = run.batch_export_id
    WHERE run.id = ${run_id}`);
  const isGone = run === undefined || run.is_deleted || run.revision !== run.export_revision;
  const new_run_id = isGone
    ? undefined
    : await insertRun(tx, {
        export: { id: batch_export_id, revision: run.revision },
        backfill_id: null,
        from: Date.parse(run.data_interval_start),
        to: Date.parse(run.data_interval_end),
        selection: fromStored(run.selection),
        delivery_id,
        replaces: {
          erasure_id,
          run_id,
          receipt_sha256: createHash('sha256')
            .update(run.receipt ?? '')
            .digest('hex'),
        },
      });
  await tx.run(sql`
    UPDATE erasure_copies SET new_run_id = ${new_run_id ?? null},
      state = ${new_run_id === undefined ? 'yours' : 'rewriting'},
      detail = ${new_run_id === undefined ? 'The export was changed or deleted meanwhile.' : null}
    WHERE erasure_id = ${erasure_id} AND delivery_id = ${delivery_id}`);
  if (new_run_id !== undefined)
    await writeRunLog(tx, {
      batch_export_id,
      run_id: new_run_id,
      level: 'INFO',
      message:
        `Writes the delivery of run ${run_id} once more, without what erasure ${erasure_id} ` +
        'removed.',
    });
}

/** Records the results of ended runs. A missing run means that its export was deleted. */
async function followRewriting({ db }: Engine, { id }: Erasure): Promise<void> {
  await db.run(sql`
    UPDATE erasure_copies copy SET
      state = CASE WHEN run.status = 'Completed' OR run.error_code = 'superseded'
        THEN 'rewritten' ELSE 'yours' END,
      detail = CASE WHEN run.status = 'Completed' THEN NULL WHEN run.error_code = 'superseded'
        THEN 'A later run has replaced the table.'
        ELSE 'It could not be rewritten: ' || coalesce(run.latest_error, 'its run is gone.') END
    FROM erasure_copies own LEFT JOIN batch_export_runs run ON run.id = own.new_run_id
    WHERE own.erasure_id = ${id} AND own.state = 'rewriting'
      AND coalesce(run.status, 'gone') NOT IN ('Starting', 'Running')
      AND copy.erasure_id = own.erasure_id AND copy.delivery_id = own.delivery_id`);
}
