import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { StoredRectangle } from '../../model/ledger/rectangles.ts';
import type { StoredSlice } from '../../model/run.ts';
import type { BackfillBy } from '../planning/backfill_area.ts';

/** The newest completed run of a delivery, which signed what stands at the destination. */
export type DeliveryRun = {
  id: string;
  delivery_id: string;
  data_interval_start: string;
  data_interval_end: string;
  /** The time that the data interval refers to. */
  selects_by: BackfillBy;
  selection: StoredRectangle[];
  records: number;
  /** The schema number of its columns; null: properties are JSON. */
  schema_number: number | null;
  receipt: string;
};

/** The deliveries of an export's revision whose data interval overlaps a range; null: no bound. */
export type DeliveryRange = {
  id: string;
  revision: number;
  start_at: string | null;
  end_at: string | null;
};

/** A delivery's position in the order of `listDeliveries`, as a cursor. */
export type Position = Pick<DeliveryRun, 'data_interval_start' | 'delivery_id'>;

/**
 * Selects the newest completed runs with receipts. Uses batch_export_runs_by_interval, and
 * batch_export_runs_repeats for their replacements.
 */
const ofRange = ({ id, revision, start_at, end_at }: DeliveryRange): Sql => sql`
  r.batch_export_id = ${id} AND r.revision = ${revision} AND r.status = 'Completed'
  AND r.receipt IS NOT NULL AND r.generation IS DISTINCT FROM 'replaced'
  AND (${start_at}::timestamptz IS NULL OR r.data_interval_end > ${start_at}::timestamptz)
  AND (${end_at}::timestamptz IS NULL OR r.data_interval_start < ${end_at}::timestamptz)
  AND NOT EXISTS (SELECT 1 FROM batch_export_runs newer
    WHERE newer.batch_export_id = r.batch_export_id AND newer.delivery_id = r.delivery_id
      AND newer.id <> newer.delivery_id AND newer.id <> r.id AND newer.status = 'Completed'
      AND newer.receipt IS NOT NULL
      AND (newer.finished_at, newer.created_at) > (r.finished_at, r.created_at))`;

/** Counts the deliveries of a range and their rows. */
export async function countDeliveries(
  db: Queryable,
  range: DeliveryRange,
): Promise<{ deliveries: number; records: number }> {
  return (await db.row<{ deliveries: number; records: number }>(sql`
    SELECT count(*) AS deliveries, coalesce(sum(r.records_completed), 0)::bigint AS records
    FROM batch_export_runs r WHERE ${ofRange(range)}`))!;
}

/** Lists the deliveries of a range after a position, the newest interval first. */
export function listDeliveries(
  db: Queryable,
  range: DeliveryRange,
  { after, limit }: { after: Position | null; limit: number | null },
): Promise<DeliveryRun[]> {
  const { data_interval_start = null, delivery_id = null } = after ?? {};
  return db.rows<DeliveryRun>(sql`
    SELECT r.id, r.delivery_id, r.data_interval_start, r.data_interval_end, r.selection, r.receipt,
      r.schema_number,
      coalesce(r.records_completed, 0) AS records,
      coalesce(own.selects_by, first.selects_by, CASE WHEN r.is_make_up
        AND r.selection -> 0 -> 'event_from' <> 'null' THEN 'timestamp' END, 'inserted_at')
        AS selects_by
    FROM batch_export_runs r
    LEFT JOIN batch_export_backfills own ON own.id = r.backfill_id
    LEFT JOIN batch_export_runs first_run ON first_run.id = r.delivery_id
    LEFT JOIN batch_export_backfills first ON first.id = first_run.backfill_id
    WHERE ${ofRange(range)} AND (${delivery_id}::uuid IS NULL
      OR (r.data_interval_start, r.delivery_id)
        < (${data_interval_start}::timestamptz, ${delivery_id}::uuid))
    ORDER BY r.data_interval_start DESC, r.delivery_id DESC LIMIT ${limit}`);
}

/** Lists the slice names of the export's deliveries in the range. */
export async function listSliceNames(db: Queryable, range: DeliveryRange): Promise<string[]> {
  const rows = await db.rows<{ name: string }>(sql`
    SELECT slice.outcome ->> 'name' AS name FROM batch_export_runs r
    JOIN batch_export_slices slice ON slice.run_id = r.id AND slice.outcome IS NOT NULL
    WHERE ${ofRange(range)}`);
  return rows.map(({ name }) => name);
}

/** Lists the slices of runs in order, by run id. */
export async function listSlicesOf(
  db: Queryable,
  runs: { id: string }[],
): Promise<Map<string, StoredSlice[]>> {
  const rows = await db.rows<StoredSlice & { run_id: string }>(sql`
    SELECT run_id, number, inserted_from, inserted_to, key_from, key_to, partition, records, outcome
    FROM batch_export_slices WHERE run_id = ANY (${runs.map(({ id }) => id)}::uuid[])
    ORDER BY run_id, number`);
  const slices = rows.map(({ run_id, ...slice }) => ({ run_id, slice }));
  return new Map(
    [...Map.groupBy(slices, ({ run_id }) => run_id)].map(([id, of_run]) => [
      id,
      of_run.map(({ slice }) => slice),
    ]),
  );
}
