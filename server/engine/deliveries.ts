import sql from 'sql-template-tag';
import type { Queryable, Transaction } from '../platform/postgres/database.ts';
import { fromStored, subtract, toStored, union } from './ledger.ts';
import type { Rectangle, StoredRectangle } from './ledger.ts';

/**
 * What is left of `base` for a new run: without what this revision has delivered, what its open runs are delivering, and what a run that failed while it
 * was being committed may have delivered. The caller holds the lock on the export's row, so nobody plans or finishes beside it.
 */
export async function undelivered(tx: Transaction, exportId: string, revision: number, base: Rectangle[]): Promise<Rectangle[]> {
  return subtract(base, (await takenOf(tx, [{ id: exportId, revision }])).get(exportId) ?? []);
}

/** What must be left out of new runs of these exports, as `undelivered` says, by export. The caller holds the locks on their rows. */
export async function takenOf(tx: Transaction, exports: { id: string; revision: number }[]): Promise<Map<string, Rectangle[]>> {
  // The second half is answered by the index batch_export_runs_taken, which has the same condition.
  const rows = await tx.rows<{ id: string; area: StoredRectangle[] }>(sql`
    WITH wanted AS (
      SELECT id, revision FROM unnest(${exports.map(({ id }) => id)}::uuid[], ${exports.map(({ revision }) => revision)}::int[]) AS wanted (id, revision)
    )
    SELECT wanted.id, ledger.delivered AS area FROM wanted JOIN batch_export_ledgers ledger ON ledger.batch_export_id = wanted.id AND ledger.revision = wanted.revision
    UNION ALL
    SELECT wanted.id, run.selection AS area FROM wanted JOIN batch_export_runs run ON run.batch_export_id = wanted.id AND run.revision = wanted.revision
    WHERE run.status IN ('Starting', 'Running') OR (run.status <> 'Completed' AND run.committing_at IS NOT NULL)`);
  const taken = new Map<string, Rectangle[]>();
  for (const { id, area } of rows) taken.set(id, [...(taken.get(id) ?? []), ...fromStored(area)]);
  return taken;
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
