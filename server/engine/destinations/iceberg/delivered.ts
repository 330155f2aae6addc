import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { parseExactJson } from '../../../platform/exact_json.ts';
import type { LakeTable } from '../../model/lake_catalog/tables.ts';
import type { Long, Snapshot } from '../lake/table_metadata.ts';

/** The key of a snapshot's summary that names the delivery whose rows it added. */
export const delivery_key = 'sluice.delivery-id';

/** The property of a table that names the last delivery of an export: it outlives snapshots. */
export const lastDeliveryKey = (batch_export_id: string): string =>
  `sluice.last-delivery.${batch_export_id}`;

/** Returns a snapshot of the table, or undefined if it has expired. */
export async function findSnapshot(
  db: Queryable,
  { id }: LakeTable,
  snapshot_id: Long,
): Promise<Snapshot | undefined> {
  const row = await db.row<{ snapshot: string }>(sql`SELECT snapshot FROM lake_snapshots
    WHERE table_id = ${id}::uuid AND snapshot_id = ${String(snapshot_id)}::bigint`);
  return row && (parseExactJson(row.snapshot) as Snapshot);
}

/**
 * Returns true if readers see the delivery of an export: the current snapshot or an ancestor has
 * it, or it is the last one of the export and its snapshot has expired. A rollback by another
 * writer takes deliveries out.
 */
export async function isShown(
  db: Queryable,
  table: LakeTable,
  { delivery_id, batch_export_id }: { delivery_id: string; batch_export_id: string },
): Promise<boolean> {
  const { properties, 'current-snapshot-id': current } = table.metadata;
  if (current === undefined) return false;
  const found = await db.row<{ is_known: boolean; is_shown: boolean }>(sql`
    WITH RECURSIVE known AS MATERIALIZED (
      SELECT snapshot_id, snapshot::jsonb AS snapshot FROM lake_snapshots
      WHERE table_id = ${table.id}::uuid
    ), line AS (
      SELECT snapshot FROM known WHERE snapshot_id = ${String(current)}::bigint
      UNION ALL
      SELECT known.snapshot FROM line
      JOIN known ON known.snapshot_id = (line.snapshot ->> 'parent-snapshot-id')::bigint
    )
    SELECT
      EXISTS (SELECT 1 FROM known
        WHERE snapshot -> 'summary' ->> ${delivery_key} = ${delivery_id}) AS is_known,
      EXISTS (SELECT 1 FROM line
        WHERE snapshot -> 'summary' ->> ${delivery_key} = ${delivery_id}) AS is_shown`);
  if (found!.is_known) return found!.is_shown;
  return properties[lastDeliveryKey(batch_export_id)] === delivery_id;
}
