import { createHash } from 'node:crypto';
import sql from 'sql-template-tag';
import { fromStored } from '../../../engine/model/ledger/rectangles.ts';
import { insertRun } from '../../../engine/exports/planning/plan.ts';
import { writeRunLog } from '../../../engine/model/run_log.ts';
import { conflict } from '../../../platform/http/errors.ts';
import { parseJson } from '../../../platform/json/parse_json.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import type { LockedExport } from '../store.ts';
import type { LockedRun } from './store.ts';

/** The newest run that has committed a delivery, and whether another run is in progress. */
type Shown = {
  id: string;
  receipt: string;
  records_rejected: number;
  is_open: boolean;
};

/**
 * Creates a run that tries the rejected rows of a delivery again, and returns its id. The caller
 * holds the locks on the export and on the run. The run repeats the same delivery, whose rows
 * already count as delivered or rejected, so no row occurs twice. Throws 409 if there is nothing to
 * deliver.
 */
export async function redeliverRejected(
  tx: Transaction,
  row: LockedExport,
  run: LockedRun,
): Promise<string> {
  const shown = await findShown(tx, row.id, run.delivery_id);
  if (shown === undefined)
    throw conflict('The run has not completed, so it has no rows set aside. Retry the run.');
  refuseOpenOrChanged(row, run, shown);
  if (shown.records_rejected === 0)
    throw conflict('No rows of this delivery are set aside: there is nothing to deliver again.');
  return insertRedelivery(tx, row, run, shown, {
    message: `Delivers the rejected rows of run ${shown.id} again.`,
  });
}

/**
 * Creates a run that writes a delivery again in its place, and returns its id. The caller holds the
 * locks on the export and on the run. Throws 409 if that is impossible.
 */
export async function rewriteDelivery(
  tx: Transaction,
  row: LockedExport,
  run: LockedRun,
): Promise<string> {
  const shown = await findShown(tx, row.id, run.delivery_id);
  if (shown === undefined) throw conflict('The run has not completed. Retry the run.');
  refuseOpenOrChanged(row, run, shown);
  return insertRedelivery(tx, row, run, shown, {
    repairs: true,
    message: `Writes the delivery of run ${shown.id} again: the destination has changed it.`,
  });
}

function refuseOpenOrChanged(row: LockedExport, run: LockedRun, shown: Shown): void {
  if (shown.is_open) throw conflict('Another run of this delivery is in progress.');
  if (run.revision !== row.revision)
    throw conflict(
      'The export has changed since this run: it now delivers other rows, or to another ' +
        'place. Start a backfill to deliver its interval there.',
    );
}

async function insertRedelivery(
  tx: Transaction,
  row: LockedExport,
  run: LockedRun,
  shown: Shown,
  { message, ...purpose }: { message: string; repairs?: true },
): Promise<string> {
  const receipt = parseJson(shown.receipt) as { source_records?: number } | undefined;
  if (receipt?.source_records === undefined)
    throw conflict('The stored receipt of this delivery is damaged, so it cannot be repeated.');
  const id = await insertRun(tx, {
    export: row,
    backfill_id: null,
    from: Date.parse(run.data_interval_start),
    to: Date.parse(run.data_interval_end),
    selection: fromStored(run.selection),
    delivery_id: run.delivery_id,
    replaces: {
      redelivers: true,
      ...purpose,
      run_id: shown.id,
      receipt_sha256: createHash('sha256').update(shown.receipt).digest('hex'),
      source_records: receipt.source_records,
    },
  });
  if (id === undefined) throw new Error('A redelivery was mistaken for a scheduled run.');
  await writeRunLog(tx, { batch_export_id: row.id, run_id: id, level: 'INFO', message });
  return id;
}

// Uses the primary key and batch_export_runs_repeats, so the length of the history does not matter.
function findShown(
  tx: Transaction,
  exportId: string,
  deliveryId: string,
): Promise<Shown | undefined> {
  return tx.row<Shown>(sql`
    WITH its AS (SELECT id, status, receipt, records_rejected, finished_at FROM batch_export_runs
      WHERE batch_export_id = ${exportId} AND (id = ${deliveryId}
        OR (delivery_id = ${deliveryId} AND id <> delivery_id)))
    SELECT id, receipt, records_rejected, EXISTS (SELECT 1 FROM its
      WHERE status IN ('Starting', 'Running')) AS is_open
    FROM its WHERE status = 'Completed' AND receipt IS NOT NULL
    ORDER BY finished_at DESC, id DESC LIMIT 1`);
}
