import { startBackfill } from '../../../engine/exports/planning/backfill.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { forgetDelivered } from '../../../engine/exports/verification/missing_deliveries.ts';
import { conflict, invalid } from '../../../platform/http/errors.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { rewriteDelivery } from '../runs/redeliver.ts';
import { retryRun } from '../runs/retry.ts';
import { lockRun } from '../runs/store.ts';
import type { LockedExport } from '../store.ts';
import type { Repair } from './schema.ts';
import { repairOf } from './shown.ts';
import { findDeliveryFinding, noteRepair } from './store.ts';
import type { FindingRow, VerificationRow } from './store.ts';

/**
 * Starts the repair of a delivery that a verification found changed, and records it at its
 * findings. The caller holds the lock on the export. Throws 400 for a delivery without a finding,
 * and 409 if it cannot be repaired, or its repair is in progress.
 */
export async function repairDelivery(
  engine: Engine,
  tx: Transaction,
  row: LockedExport,
  verification: Pick<VerificationRow, 'id' | 'revision'>,
  delivery_id: string,
): Promise<Repair> {
  const finding = await findDeliveryFinding(tx, verification.id, delivery_id);
  if (finding === undefined || finding.delivery === null)
    throw invalid('delivery', 'invalid_input', 'This verification has no finding about it.');
  if (verification.revision !== row.revision)
    throw conflict('The export was changed since this verification. Verify it again.');
  const repair = await startRepair(engine, tx, row, finding.kind, finding.delivery);
  await noteRepair(tx, verification.id, repair);
  return repair;
}

/**
 * Starts the repair of a delivery with a finding. The caller holds the lock on the export. Throws
 * 409 if it cannot be repaired, or its repair is in progress.
 */
export async function startRepair(
  engine: Engine,
  tx: Transaction,
  row: LockedExport,
  kind: FindingRow['kind'],
  delivery: NonNullable<FindingRow['delivery']>,
): Promise<Repair> {
  const delivery_id = delivery.id;
  const action = repairOf({ kind, delivery }, row);
  if (action === undefined)
    throw conflict('This destination cannot show its rows again, so only you can repair it.');
  const run = await lockRun(tx, row.id, delivery.run);
  if (run === undefined) throw conflict('The run of this delivery no longer exists. Verify again.');
  const started = { run: null as string | null, backfill: null as string | null };
  if (action === 'rewrite') started.run = await rewriteDelivery(tx, row, run);
  else if (action === 'retry') started.run = await retryRun(tx, row, run);
  else {
    if (run.status !== 'Completed')
      throw conflict('This delivery is no longer in the ledger. Verify again.');
    await forgetDelivered(tx, row, { delivery_id, run_id: run.id, selection: run.selection });
    const range = {
      from: Date.parse(delivery.data_interval_start),
      to: Date.parse(delivery.data_interval_end),
      by: delivery.by,
      mode: 'missing' as const,
    };
    started.backfill = await startBackfill(tx, row.id, range, engine.settle_seconds);
  }
  return { delivery: delivery_id, action, ...started };
}
