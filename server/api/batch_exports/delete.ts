import sql from 'sql-template-tag';
import { cancelBackfill } from '../../engine/exports/planning/backfill.ts';
import { requestCancels } from '../../engine/exports/runs/begin_revision.ts';
import { writeRunLog } from '../../engine/model/run_log.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { listOpenBackfills } from './backfills/store.ts';

/**
 * Deletes an export under the caller's lock. Planning stops, open backfills end, and workers cancel
 * runs whose commit has not begun.
 */
export async function deleteBatchExport(tx: Transaction, id: string): Promise<void> {
  for (const backfill of await listOpenBackfills(tx, id)) await cancelBackfill(tx, backfill.id);
  await requestCancels(tx, id);
  await markDeleted(tx, id);
  await writeRunLog(tx, {
    batch_export_id: id,
    run_id: null,
    level: 'INFO',
    message: 'The export was deleted.',
  });
}

/** Marks the export as deleted; later statements do not find it. */
async function markDeleted(tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`UPDATE batch_exports SET deleted_at = now(), last_updated_at = now(),
    connection_id = NULL WHERE id = ${id}`);
}
