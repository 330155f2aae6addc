import sql from 'sql-template-tag';
import { deliveredOf, takenOf } from '../../../engine/model/ledger/ledger.ts';
import { subtract } from '../../../engine/model/ledger/rectangles.ts';
import type { Rectangle } from '../../../engine/model/ledger/rectangles.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { EarlierDeliveries } from './schema.ts';

type Range = EarlierDeliveries['ranges'][number];

/**
 * Lists ranges that earlier revisions of the export delivered, and the current one neither
 * delivered nor is about to. Empty for a table that is replaced, because each run writes all rows.
 */
export async function listEarlierRanges(db: Queryable, exportId: string): Promise<Range[]> {
  const revisions = await db.rows<{ revision: number; current: number }>(sql`
    SELECT ledger.revision, e.revision AS current FROM batch_export_ledgers ledger
    JOIN batch_exports e ON e.id = ledger.batch_export_id AND ledger.revision < e.revision
    WHERE e.id = ${exportId} AND e.write_rule ->> 'mode' IS DISTINCT FROM 'replace'`);
  if (revisions.length === 0) return [];
  const earlier: Rectangle[] = [];
  for (const { revision } of revisions)
    earlier.push(...((await deliveredOf(db, [{ id: exportId, revision }])).get(exportId) ?? []));
  const current = { id: exportId, revision: revisions[0]!.current, within: earlier };
  return rangesOf(subtract(earlier, (await takenOf(db, [current])).get(exportId) ?? []));
}

/**
 * Returns ranges for backfills that cover the areas: by ingestion time from the first insertion on,
 * and by event time for deliveries of backfills.
 */
export function rangesOf(areas: Rectangle[]): Range[] {
  const ingested = areas.filter(({ inserted_from }) => Number.isFinite(inserted_from));
  const happened = areas.filter(
    ({ inserted_from, event_from, event_to }) =>
      !Number.isFinite(inserted_from) && Number.isFinite(event_from) && Number.isFinite(event_to),
  );
  return [
    ...rangeOf('timestamp', happened, ({ event_from, event_to }) => [event_from, event_to]),
    ...rangeOf('inserted_at', ingested, ({ inserted_from, inserted_to }) => [
      inserted_from,
      inserted_to,
    ]),
  ];
}

function rangeOf(
  by: Range['by'],
  areas: Rectangle[],
  sides: (area: Rectangle) => [number, number],
): Range[] {
  if (areas.length === 0) return [];
  const from = areas.reduce((least, area) => Math.min(least, sides(area)[0]), Infinity);
  const to = areas.reduce((most, area) => Math.max(most, sides(area)[1]), -Infinity);
  return [{ by, start_at: isoInstant(from), end_at: isoInstant(to) }];
}
