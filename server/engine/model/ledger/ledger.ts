import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { addToPages, movesToPages, removeFromPages, writePages } from './pages.ts';
import { boundsOf, fromStored, restOf, subtract, toStored, union } from './rectangles.ts';
import type { Rectangle, StoredRectangle } from './rectangles.ts';

/** The ledger to read; of a very long one, only the part near `within`, if given. */
export type Wanted = { id: string; revision: number; within?: Rectangle[] };

/**
 * Returns the rest of `base` for a new run: without rows that this revision has delivered, rows of
 * its open runs, and rows of runs that failed during their commit. The caller holds the lock on the
 * export's row, so no run is planned or finished meanwhile.
 */
export async function undelivered(
  tx: Transaction,
  exportId: string,
  revision: number,
  base: Rectangle[],
): Promise<Rectangle[]> {
  const wanted = { id: exportId, revision, within: base };
  return restOf(base, (await takenOf(tx, [wanted])).get(exportId) ?? []);
}

/**
 * Returns the areas that new runs of these exports must leave out (see `undelivered`), by export.
 * They stay valid while the caller holds the locks on the exports' rows.
 */
export async function takenOf(db: Queryable, exports: Wanted[]): Promise<Map<string, Rectangle[]>> {
  return areasOf(db, exports, sql`${in_ledgers} UNION ALL ${in_hand}`);
}

/** Returns the part of `takenOf` that is not yet in the ledgers. */
export async function inHandOf(
  db: Queryable,
  exports: Wanted[],
): Promise<Map<string, Rectangle[]>> {
  return areasOf(db, exports, in_hand);
}

/** Returns the part of `takenOf` that is in the ledgers: the delivered areas. */
export async function deliveredOf(
  db: Queryable,
  exports: Wanted[],
): Promise<Map<string, Rectangle[]>> {
  return areasOf(db, exports, in_ledgers);
}

// Selects the pages that touch the bounds of the wanted area.
const in_ledgers = sql`
  SELECT wanted.id, coalesce(page.delivered, ledger.delivered) AS area
  FROM wanted JOIN batch_export_ledgers ledger
    ON ledger.batch_export_id = wanted.id AND ledger.revision = wanted.revision
  LEFT JOIN batch_export_ledger_pages page ON ledger.delivered = 'null'
    AND page.batch_export_id = wanted.id AND page.revision = wanted.revision
    AND page.event_from <= wanted.event_to AND page.event_to >= wanted.event_from
    AND page.inserted_from <= wanted.inserted_to AND page.inserted_to >= wanted.inserted_from
  WHERE ledger.delivered <> 'null' OR page.id IS NOT NULL`;

// Uses the index batch_export_runs_taken, which has the same condition.
const in_hand = sql`
  SELECT wanted.id, run.selection AS area FROM wanted JOIN batch_export_runs run
    ON run.batch_export_id = wanted.id AND run.revision = wanted.revision
  WHERE run.status IN ('Starting', 'Running') OR (run.status <> 'Completed'
    AND run.committing_at IS NOT NULL)`;

const everything: Rectangle = {
  event_from: -Infinity,
  event_to: Infinity,
  inserted_from: -Infinity,
  inserted_to: Infinity,
};

async function areasOf(
  db: Queryable,
  exports: Wanted[],
  areas: Sql,
): Promise<Map<string, Rectangle[]>> {
  const bounds = exports.map(({ within }) =>
    within === undefined ? everything : boundsOf(within),
  );
  const side = (name: keyof Rectangle) => bounds.map((one) => one[name]);
  const rows = await db.rows<{ id: string; area: StoredRectangle[] }>(sql`
    WITH wanted AS (
      SELECT * FROM unnest(${exports.map(({ id }) => id)}::uuid[],
        ${exports.map(({ revision }) => revision)}::int[], ${side('event_from')}::float8[],
        ${side('event_to')}::float8[], ${side('inserted_from')}::float8[],
        ${side('inserted_to')}::float8[])
        AS wanted (id, revision, event_from, event_to, inserted_from, inserted_to)
    ) ${areas}`);
  const found = new Map<string, Rectangle[][]>();
  for (const { id, area } of rows) found.set(id, [...(found.get(id) ?? []), fromStored(area)]);
  return new Map([...found].map(([id, parts]) => [id, parts.flat()]));
}

/** The delivery of a completed run. */
export type Delivered = { batch_export_id: string; revision: number; selection: Rectangle[] };

/**
 * Adds the deliveries of completed runs to the ledgers of their revisions; at most one run per
 * export. The caller holds the locks on the exports' rows.
 */
export async function addDelivered(tx: Transaction, added: Delivered[]): Promise<void> {
  if (added.length === 0) return;
  const known = await tx.rows<{
    batch_export_id: string;
    revision: number;
    delivered: StoredRectangle[] | null;
  }>(sql`
    SELECT ledger.batch_export_id, ledger.revision, ledger.delivered
      FROM batch_export_ledgers ledger
    JOIN unnest(${added.map((one) => one.batch_export_id)}::uuid[],
      ${added.map((one) => one.revision)}::int[]) AS wanted (batch_export_id, revision)
      ON wanted.batch_export_id = ledger.batch_export_id AND wanted.revision = ledger.revision`);
  const before = new Map(known.map((ledger) => [ledger.batch_export_id, ledger.delivered]));
  const ledgers: { batch_export_id: string; revision: number; delivered: object | null }[] = [];
  for (const { batch_export_id, revision, selection } of added) {
    const stored = before.get(batch_export_id);
    if (stored === null) {
      await addToPages(tx, { batch_export_id, revision, selection });
      continue;
    }
    const delivered = union(fromStored(stored ?? []), selection);
    const isLong = movesToPages(delivered);
    if (isLong) await writePages(tx, { batch_export_id, revision }, delivered);
    ledgers.push({
      batch_export_id,
      revision,
      delivered: isLong ? null : toStored(delivered),
    });
  }
  if (ledgers.length === 0) return;
  // A record cannot hold a JSON null, so the ledger encodes the bounds as JSON.
  await tx.run(sql`
    INSERT INTO batch_export_ledgers (batch_export_id, revision, delivered)
    SELECT batch_export_id, revision, coalesce(delivered, 'null')
      FROM jsonb_to_recordset(${JSON.stringify(ledgers)}::jsonb) AS ledger (batch_export_id uuid,
      revision int, delivered jsonb)
    ON CONFLICT (batch_export_id, revision) DO UPDATE
      SET delivered = excluded.delivered, updated_at = now()`);
}

/**
 * Removes an area that a run was believed to have delivered from the ledger of its revision. The
 * next run over it delivers it. The caller holds the lock on the export's row.
 */
export async function removeDelivered(tx: Transaction, removed: Delivered): Promise<void> {
  const { batch_export_id, revision, selection } = removed;
  const ledger = await tx.row<{ delivered: StoredRectangle[] | null }>(sql`
    SELECT delivered FROM batch_export_ledgers
    WHERE batch_export_id = ${batch_export_id} AND revision = ${revision}`);
  if (ledger === undefined) return;
  if (ledger.delivered === null) return removeFromPages(tx, removed);
  const left = toStored(subtract(fromStored(ledger.delivered), selection));
  await tx.run(sql`
    UPDATE batch_export_ledgers SET delivered = ${JSON.stringify(left)}, updated_at = now()
    WHERE batch_export_id = ${batch_export_id} AND revision = ${revision}`);
}
