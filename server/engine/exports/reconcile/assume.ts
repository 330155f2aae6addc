import sql from 'sql-template-tag';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';
import { fromStored } from '../../model/ledger/rectangles.ts';
import type { StoredRectangle } from '../../model/ledger/rectangles.ts';
import { addToLedger, beginAnew } from './enter_receipts.ts';
import type { WaitingExport } from './found_receipts.ts';

/** A person's statement about a destination that cannot answer. */
export type Assumption = 'delivered' | 'missing';

/**
 * Resolves an export by a person's assumption. `delivered`: the backup's open runs, and everything
 * the schedule would have planned until now, count as delivered. `missing`: open runs continue from
 * the backup's state, at the first unsent slice. The caller holds the lock on the export's row.
 */
export async function assume(
  tx: Transaction,
  row: WaitingExport,
  assumption: Assumption,
): Promise<void> {
  if (assumption === 'missing') return goOnWhere(tx, row);
  const open = await tx.rows<{ selection: StoredRectangle[] }>(sql`
    SELECT selection FROM batch_export_runs
    WHERE batch_export_id = ${row.id} AND revision = ${row.revision}
      AND status IN ('Starting', 'Running')`);
  const until = await databaseInstant(tx);
  await addToLedger(tx, row, [
    ...open.flatMap(({ selection }) => fromStored(selection)),
    {
      event_from: -Infinity,
      event_to: Infinity,
      inserted_from: Date.parse(row.planned_until),
      inserted_to: until,
    },
  ]);
  // Its workers are gone and its rows count as delivered, so nothing is left to abort.
  await tx.run(sql`
    UPDATE batch_export_runs SET status = 'Cancelled', finished_at = now(), last_updated_at = now(),
      committing_at = NULL, error_code = 'cancelled', latest_error = 'It was open in the backup ' ||
        'from which the server was restored, and is taken for delivered.',
      model = NULL, custom_query = NULL, destination_type = NULL, destination_config = NULL,
      destination_secrets = NULL
    WHERE batch_export_id = ${row.id} AND status IN ('Starting', 'Running')`);
}

async function goOnWhere(tx: Transaction, row: WaitingExport): Promise<void> {
  const unsent = await tx.rows<{ id: string; selection: StoredRectangle[] }>(sql`
    SELECT id, selection FROM batch_export_runs run
    WHERE batch_export_id = ${row.id} AND status IN ('Starting', 'Running')
      AND NOT EXISTS (SELECT 1 FROM batch_export_slices
        WHERE run_id = run.id AND outcome IS NOT NULL)`);
  await beginAnew(tx, unsent);
  await tx.run(sql`
    UPDATE batch_export_runs SET due_at = now(), last_updated_at = now()
    WHERE batch_export_id = ${row.id} AND status IN ('Starting', 'Running')`);
}
