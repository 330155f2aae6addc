import sql from 'sql-template-tag';
import { backfillArea } from '../../../engine/exports/planning/backfill_area.ts';
import type { BackfillBy } from '../../../engine/exports/planning/backfill_area.ts';
import { deliveredOf, inHandOf } from '../../../engine/model/ledger/ledger.ts';
import {
  fromStored,
  intersect,
  subtract,
  union,
  unionOf,
} from '../../../engine/model/ledger/rectangles.ts';
import type { Rectangle, StoredRectangle } from '../../../engine/model/ledger/rectangles.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';

/** The fields of an export that the count needs. */
export type CountedExport = {
  id: string;
  revision: number;
  paused: boolean;
  planned_until: string;
  end_at: string | null;
};

/** The parts of a range by the state of their rows; `all` is the range itself. */
export type ProofAreas = Record<
  'all' | 'delivered' | 'delivered_twice' | 'in_progress' | 'waiting',
  Rectangle[]
>;

/**
 * Divides a range (milliseconds) by the state of its rows. All parts are disjoint, except
 * `delivered_twice`, which is a part of `delivered`. Rows ingested from `until` on are excluded.
 */
export async function areasOf(
  tx: Transaction,
  row: CountedExport,
  { after, before, by, until }: { after: number; before: number; by: BackfillBy; until: number },
): Promise<ProofAreas> {
  const all = [backfillArea(by, after, before, until)];
  const wanted = { ...row, within: all };
  const ledger = (await deliveredOf(tx, [wanted])).get(row.id) ?? [];
  const delivered = intersect(all, ledger);
  const in_hand = (await inHandOf(tx, [wanted])).get(row.id) ?? [];
  const in_progress = subtract(intersect(all, in_hand), delivered);
  const scheduled = {
    event_from: -Infinity,
    event_to: Infinity,
    inserted_from: Date.parse(row.planned_until),
    inserted_to: row.end_at === null ? Infinity : Date.parse(row.end_at),
  };
  const waiting = row.paused
    ? []
    : subtract(intersect(all, [scheduled]), union(delivered, in_progress));
  const delivered_twice = await findTwice(tx, row, all);
  return { all, delivered, delivered_twice, in_progress, waiting };
}

/** Returns the area of more than one delivery: only backfills of all rows overlap others. */
async function findTwice(
  tx: Transaction,
  { id, revision }: CountedExport,
  all: Rectangle[],
): Promise<Rectangle[]> {
  // Uses batch_export_runs_by_backfill; most exports have no such run.
  const repeated = await tx.rows<{ delivery_id: string; selection: StoredRectangle[] }>(sql`
    SELECT DISTINCT ON (r.delivery_id) r.delivery_id, r.selection FROM batch_export_backfills b
    JOIN batch_export_runs r ON r.backfill_id = b.id AND r.status = 'Completed'
      AND r.records_completed > 0
    WHERE b.batch_export_id = ${id} AND b.revision = ${revision} AND b.mode = 'all'
    ORDER BY r.delivery_id`);
  if (repeated.length === 0) return [];
  const others = await tx.rows<{ selection: StoredRectangle[] }>(sql`
    SELECT DISTINCT ON (r.delivery_id) r.selection FROM batch_export_runs r
    WHERE r.batch_export_id = ${id} AND r.revision = ${revision} AND r.status = 'Completed'
      AND r.records_completed > 0
      AND r.delivery_id <> ALL (${repeated.map((one) => one.delivery_id)}::uuid[])
    ORDER BY r.delivery_id`);
  let seen = unionOf(others.flatMap(({ selection }) => fromStored(selection)));
  const twice: Rectangle[] = [];
  for (const { selection } of repeated) {
    const area = fromStored(selection);
    twice.push(...intersect(area, seen));
    seen = union(seen, unionOf(area));
  }
  return intersect(all, unionOf(twice));
}
