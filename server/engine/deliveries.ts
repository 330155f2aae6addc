import sql from 'sql-template-tag';
import type { Queryable, Transaction } from '../platform/postgres/database.ts';
import { fromStored, subtract, toStored, union } from './ledger.ts';
import type { Rectangle, StoredRectangle } from './ledger.ts';

/**
 * What is left of `base` for a new run: without what this revision has delivered, what its open runs are delivering, and what a run that failed while it
 * was being committed may have delivered. The caller holds the lock on the export's row, so nobody plans or finishes beside it.
 */
export async function undelivered(tx: Transaction, exportId: string, revision: number, base: Rectangle[]): Promise<Rectangle[]> {
  const rows = await tx.rows<{ area: StoredRectangle[] }>(sql`
    SELECT delivered AS area FROM batch_export_ledgers WHERE batch_export_id = ${exportId} AND revision = ${revision}
    UNION ALL
    SELECT selection AS area FROM batch_export_runs
    WHERE batch_export_id = ${exportId} AND revision = ${revision}
      AND (status IN ('Starting', 'Running') OR (status <> 'Completed' AND committing_at IS NOT NULL))`);
  return subtract(
    base,
    rows.flatMap((row) => fromStored(row.area)),
  );
}

/** The merged rectangles that a revision has delivered; empty when there are none. */
async function findDelivered(queryable: Queryable, exportId: string, revision: number): Promise<Rectangle[]> {
  const row = await queryable.row<{ delivered: StoredRectangle[] }>(sql`
    SELECT delivered FROM batch_export_ledgers WHERE batch_export_id = ${exportId} AND revision = ${revision}`);
  return fromStored(row?.delivered ?? []);
}

/** Adds a completed run's selection to the ledger of its revision. The caller holds the lock on the export's row. */
export async function addDelivered(tx: Transaction, exportId: string, revision: number, selection: Rectangle[]): Promise<void> {
  const delivered = union(await findDelivered(tx, exportId, revision), selection);
  await tx.run(sql`
    INSERT INTO batch_export_ledgers (batch_export_id, revision, delivered) VALUES (${exportId}, ${revision}, ${JSON.stringify(toStored(delivered))})
    ON CONFLICT (batch_export_id, revision) DO UPDATE SET delivered = excluded.delivered, updated_at = now()`);
}
