import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { Long } from './fields.ts';

/** The key of a snapshot's summary that names the delivery whose rows it added. */
export const delivery_key = 'sluice.delivery-id';

/** A snapshot that added a delivery; `number` is its position in the order of all snapshots. */
type Adding = { snapshot_id: string; number: number };

/**
 * Returns true if the snapshot or an ancestor added the delivery; undefined if no snapshot of the
 * table ever did. Expired snapshots count too. Uses the indexes by delivery, and walks the
 * ancestors no further back than the adding snapshot.
 */
export async function isInLine(
  db: Queryable,
  table_id: string,
  from: Long | undefined,
  delivery_id: string,
): Promise<boolean | undefined> {
  const of_table = sql`table_id = ${table_id}::uuid`;
  const adding = await db.rows<Adding>(sql`
    SELECT snapshot_id::text, number FROM lake_snapshots
    WHERE ${of_table} AND delivery_id = ${delivery_id}
    UNION ALL SELECT snapshot_id::text, number FROM lake_expired_snapshots
    WHERE ${of_table} AND delivery_id = ${delivery_id}`);
  if (adding.length === 0) return undefined;
  const ids = adding.map(({ snapshot_id }) => snapshot_id);
  const first = Math.min(...adding.map(({ number }) => number));
  const row = await db.row<{ is_shown: boolean }>(sql`
    WITH RECURSIVE line AS (
      SELECT ${from === undefined ? null : String(from)}::bigint AS snapshot_id
      UNION ALL
      SELECT one.parent_id FROM line CROSS JOIN LATERAL (
        SELECT parent_id, number FROM lake_snapshots
        WHERE ${of_table} AND snapshot_id = line.snapshot_id
        UNION ALL SELECT parent_id, number FROM lake_expired_snapshots
        WHERE ${of_table} AND snapshot_id = line.snapshot_id
      ) one
      WHERE one.number > ${first} AND one.parent_id IS NOT NULL
        AND line.snapshot_id <> ALL (${ids}::bigint[])
    )
    SELECT EXISTS (SELECT 1 FROM line WHERE snapshot_id = ANY (${ids}::bigint[])) AS is_shown`);
  return row!.is_shown;
}
