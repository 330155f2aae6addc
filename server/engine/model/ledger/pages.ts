import sql from 'sql-template-tag';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { boundsOf, fromStored, subtract, toStored, union } from './rectangles.ts';
import type { Rectangle, StoredRectangle } from './rectangles.ts';
import { openSweep } from './sweep.ts';

/** Most rectangles of a page, and of a ledger without pages. A run reads and writes whole pages. */
export const page_rectangles_max = 500;

type Ledger = { batch_export_id: string; revision: number };

/** Returns true if a ledger should move to pages; it never moves back. */
export function movesToPages(delivered: Rectangle[]): boolean {
  return delivered.length > page_rectangles_max;
}

/**
 * Adds a run's selection to a ledger with pages. It rewrites and merges the pages that the
 * selection touches, so the rectangles of all pages stay disjoint. The caller holds the lock on the
 * export's row.
 */
export function addToPages(
  tx: Transaction,
  changed: Ledger & { selection: Rectangle[] },
): Promise<void> {
  return changePages(tx, changed, union);
}

/** Removes a run's selection from a ledger with pages, as `addToPages` adds it. */
export function removeFromPages(
  tx: Transaction,
  changed: Ledger & { selection: Rectangle[] },
): Promise<void> {
  return changePages(tx, changed, subtract);
}

async function changePages(
  tx: Transaction,
  { batch_export_id, revision, selection }: Ledger & { selection: Rectangle[] },
  change: typeof union,
): Promise<void> {
  if (selection.length === 0) return;
  const { event_from, event_to, inserted_from, inserted_to } = boundsOf(selection);
  const touched = await tx.rows<{ delivered: StoredRectangle[] }>(sql`
    DELETE FROM batch_export_ledger_pages
    WHERE batch_export_id = ${batch_export_id} AND revision = ${revision}
      AND event_from <= ${event_to}::float8 AND event_to >= ${event_from}::float8
      AND inserted_from <= ${inserted_to}::float8 AND inserted_to >= ${inserted_from}::float8
    RETURNING delivered`);
  const near = touched.flatMap(({ delivered }) => fromStored(delivered));
  await writePages(tx, { batch_export_id, revision }, change(near, selection));
}

/** Writes rectangles that no page contains yet; neighbours share a page. */
export async function writePages(
  tx: Transaction,
  { batch_export_id, revision }: Ledger,
  delivered: Rectangle[],
): Promise<void> {
  const { sorted } = openSweep(delivered);
  const count = Math.ceil(sorted.length / page_rectangles_max);
  const start = (page: number) => Math.floor((page * sorted.length) / count);
  const pages = Array.from({ length: count }, (_, page) => {
    const part = sorted.slice(start(page), start(page + 1));
    return { ...boundsOf(part), delivered: toStored(part) };
  });
  const side = (name: keyof Rectangle) => pages.map((page) => page[name]);
  await tx.run(sql`
    INSERT INTO batch_export_ledger_pages (batch_export_id, revision, event_from, event_to,
      inserted_from, inserted_to, delivered)
    SELECT ${batch_export_id}::uuid, ${revision}::int, page.*
    FROM unnest(${side('event_from')}::float8[], ${side('event_to')}::float8[],
      ${side('inserted_from')}::float8[], ${side('inserted_to')}::float8[],
      ${pages.map((page) => JSON.stringify(page.delivered))}::jsonb[]) AS page`);
}
