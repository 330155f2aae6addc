import { fromStored, intersect } from '../../../engine/model/ledger/rectangles.ts';
import type { Rectangle } from '../../../engine/model/ledger/rectangles.ts';
import { listUncertain } from '../../../engine/model/ledger/uncertain.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import type { LockedExport } from '../store.ts';
import { retryRun } from './retry.ts';
import { lockRun } from './store.ts';

/**
 * Retries the runs with uncertain deliveries in this area, and returns their number. Each retry
 * checks whether the destination has the rows, and delivers them if not. The caller holds the lock
 * on the export.
 */
export async function retryUncertain(
  tx: Transaction,
  row: LockedExport,
  area: Rectangle,
): Promise<number> {
  let retried = 0;
  for (const { run_id, selection } of await listUncertain(tx, row.id)) {
    if (intersect(fromStored(selection), [area]).length === 0) continue;
    const run = await lockRun(tx, row.id, run_id);
    if (run === undefined) continue;
    await retryRun(tx, row, run);
    retried += 1;
  }
  return retried;
}
