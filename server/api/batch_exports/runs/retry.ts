import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { undelivered } from '../../../engine/model/ledger/ledger.ts';
import { earliestOf, removedFrom } from '../../../engine/model/ledger/removed.ts';
import { fromStored, subtract } from '../../../engine/model/ledger/rectangles.ts';
import type { Rectangle } from '../../../engine/model/ledger/rectangles.ts';
import { insertRun } from '../../../engine/exports/planning/plan.ts';
import { writeRunLog } from '../../../engine/model/run_log.ts';
import { conflict } from '../../../platform/http/errors.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { getDeliveryState, planRetry, retried_statuses } from './retry_plan.ts';
import type { RestOf, RetryRefusal } from './retry_plan.ts';
import type { LockedRun } from './store.ts';
import type { LockedExport } from '../store.ts';

const once_more = 'To deliver its interval again, start a backfill of all its rows (mode `all`).';

/** The sentence for each refusal of a retry. */
const refusals: Record<RetryRefusal, string> = {
  in_progress: 'A retry of this run is in progress.',
  completed: `A retry of this run has completed. ${once_more}`,
  delivered:
    'No row of this run is missing: other runs have delivered them, or are about to.' + once_more,
  changed:
    'The export has changed since this run failed in its commit: it delivers other rows, or ' +
    `to another place. ${once_more}`,
};

/**
 * Creates a new run that delivers what the old one did not, and returns its id. The caller holds
 * the locks on the export and on the run. Guarantee: no row is delivered twice. If the commit had
 * begun, the new run is the same delivery and continues where the old one stopped, so the
 * destination replaces or finds the existing rows. Otherwise it delivers the missing rows of its
 * interval, under the same name if the old run had selected exactly these. Throws 409 if there is
 * nothing to retry.
 */
export async function retryRun(
  tx: Transaction,
  row: LockedExport,
  run: LockedRun,
  restOf: RestOf = (wanted) => undelivered(tx, row.id, row.revision, wanted),
): Promise<string> {
  if (!retried_statuses.includes(run.status))
    throw conflict(
      run.status === 'Completed'
        ? `The run has completed. ${once_more}`
        : `The run has not ended: its status is ${run.status}.`,
    );
  const state = await getDeliveryState(tx, row.id, run.delivery_id);
  const plan = await planRetry(row, run, state, restOf);
  if ('refusal' in plan) throw conflict(refusals[plan.refusal]);
  const id =
    'continues' in plan
      ? await insertContinuation(tx, row, run, plan.continues)
      : await insertMissing(tx, row, run, plan.selection);
  const removed = await removedFrom(tx, row.team_id, earliestOf(fromStored(run.selection)));
  await writeRunLog(tx, {
    batch_export_id: row.id,
    run_id: id,
    level: 'INFO',
    message: `Retry of run ${run.id}. ${removed}`.trim(),
  });
  return id;
}

function insertMissing(
  tx: Transaction,
  row: LockedExport,
  run: LockedRun,
  rest: Rectangle[],
): Promise<string> {
  const selected = subtract(fromStored(run.selection), []);
  // Other rows need another delivery id: files of the same name would hold the old rows.
  return isSame(rest, selected)
    ? insert(tx, row, run, selected, run.delivery_id)
    : insert(tx, row, run, rest, uuidv7());
}

async function insertContinuation(
  tx: Transaction,
  row: LockedExport,
  run: LockedRun,
  committing_run_id: string,
): Promise<string> {
  const id = await insert(tx, row, run, fromStored(run.selection), run.delivery_id);
  // The slices, the receipt and the place are copied: the destination may show exactly these, and a
  // change of the export must not move them.
  await tx.run(sql`
    UPDATE batch_export_runs n SET records_total_count = o.records_total_count,
      records_completed = o.records_completed, records_rejected = o.records_rejected,
      bytes_completed = o.bytes_completed,
      "cursor" = o."cursor", receipt = o.receipt, committing_at = o.committing_at,
      model = e.model, custom_query = e.custom_query, write_rule = e.write_rule,
        schema_number = o.schema_number,
        destination_type = e.destination_type, destination_config = e.destination_config,
        destination_secrets = e.destination_secrets
    FROM batch_export_runs o, batch_exports e WHERE n.id = ${id}
      AND o.id = ${committing_run_id} AND e.id = n.batch_export_id`);
  await tx.run(sql`
    INSERT INTO batch_export_slices (run_id, number, inserted_from, inserted_to, key_from, key_to,
      partition, records, outcome)
    SELECT ${id}, number, inserted_from, inserted_to, key_from, key_to, partition, records, outcome
      FROM batch_export_slices WHERE run_id = ${committing_run_id}`);
  return id;
}

async function insert(
  tx: Transaction,
  row: LockedExport,
  run: LockedRun,
  selection: Rectangle[],
  delivery_id: string,
): Promise<string> {
  const [from, to] = [Date.parse(run.data_interval_start), Date.parse(run.data_interval_end)];
  const id = await insertRun(tx, {
    export: row,
    backfill_id: run.backfill_id,
    from,
    to,
    selection,
    delivery_id,
    is_make_up: run.is_make_up,
  });
  if (id === undefined) throw new Error('A retry was mistaken for a scheduled run.');
  return id;
}

/** Returns true if both are the same area, however it is divided. */
function isSame(one: Rectangle[], other: Rectangle[]): boolean {
  return subtract(one, other).length === 0 && subtract(other, one).length === 0;
}
