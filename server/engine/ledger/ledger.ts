import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { fromStored, subtract, toStored, union } from './rectangles.ts';
import type { Rectangle, StoredRectangle } from './rectangles.ts';

/**
 * What is left of `base` for a new run: without what this revision has delivered, what its open
 * runs are delivering, and what a run that failed while it was being committed may have delivered.
 * The caller holds the lock on the export's row, so nobody plans or finishes beside it.
 */
export async function undelivered(
  tx: Transaction,
  exportId: string,
  revision: number,
  base: Rectangle[],
): Promise<Rectangle[]> {
  return subtract(base, (await takenOf(tx, [{ id: exportId, revision }])).get(exportId) ?? []);
}

/**
 * What must be left out of new runs of these exports, as `undelivered` says, by export. It stays so
 * while the caller holds the locks on their rows.
 */
export async function takenOf(
  db: Queryable,
  exports: { id: string; revision: number }[],
): Promise<Map<string, Rectangle[]>> {
  return areasOf(
    db,
    exports,
    sql`
    SELECT wanted.id, ledger.delivered AS area FROM wanted JOIN batch_export_ledgers ledger
      ON ledger.batch_export_id = wanted.id AND ledger.revision = wanted.revision
    UNION ALL ${in_hand}`,
  );
}

/** Of what `takenOf` gives, what is not in the ledgers. */
export async function inHandOf(
  db: Queryable,
  exports: { id: string; revision: number }[],
): Promise<Map<string, Rectangle[]>> {
  return areasOf(db, exports, in_hand);
}

// Answered by the index batch_export_runs_taken, which has the same condition.
const in_hand = sql`
  SELECT wanted.id, run.selection AS area FROM wanted JOIN batch_export_runs run
    ON run.batch_export_id = wanted.id AND run.revision = wanted.revision
  WHERE run.status IN ('Starting', 'Running') OR (run.status <> 'Completed'
    AND run.committing_at IS NOT NULL)`;

async function areasOf(
  db: Queryable,
  exports: { id: string; revision: number }[],
  areas: Sql,
): Promise<Map<string, Rectangle[]>> {
  const rows = await db.rows<{ id: string; area: StoredRectangle[] }>(sql`
    WITH wanted AS (
      SELECT id, revision FROM unnest(${exports.map(({ id }) => id)}::uuid[],
        ${exports.map(({ revision }) => revision)}::int[]) AS wanted (id, revision)
    ) ${areas}`);
  const taken = new Map<string, Rectangle[]>();
  for (const { id, area } of rows) taken.set(id, [...(taken.get(id) ?? []), ...fromStored(area)]);
  return taken;
}

/** What a completed run has delivered. */
export type Delivered = { batch_export_id: string; revision: number; selection: Rectangle[] };

/**
 * Adds what completed runs have delivered to the ledgers of their revisions; no two runs are of the
 * same export. The caller holds the locks on the exports' rows.
 */
export async function addDelivered(tx: Transaction, added: Delivered[]): Promise<void> {
  if (added.length === 0) return;
  const known = await tx.rows<{
    batch_export_id: string;
    revision: number;
    delivered: StoredRectangle[];
  }>(sql`
    SELECT ledger.batch_export_id, ledger.revision, ledger.delivered
      FROM batch_export_ledgers ledger
    JOIN unnest(${added.map((one) => one.batch_export_id)}::uuid[],
      ${added.map((one) => one.revision)}::int[]) AS wanted (batch_export_id, revision)
      ON wanted.batch_export_id = ledger.batch_export_id AND wanted.revision = ledger.revision`);
  const before = new Map(
    known.map((ledger) => [ledger.batch_export_id, fromStored(ledger.delivered)]),
  );
  const ledgers = added.map(({ batch_export_id, revision, selection }) => ({
    batch_export_id,
    revision,
    delivered: toStored(union(before.get(batch_export_id) ?? [], selection)),
  }));
  await tx.run(sql`
    INSERT INTO batch_export_ledgers (batch_export_id, revision, delivered)
    SELECT batch_export_id, revision, delivered
      FROM jsonb_to_recordset(${JSON.stringify(ledgers)}::jsonb) AS ledger (batch_export_id uuid,
      revision int, delivered jsonb)
    ON CONFLICT (batch_export_id, revision) DO UPDATE
      SET delivered = excluded.delivered, updated_at = now()`);
}
