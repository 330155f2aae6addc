import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { parseExactJson } from '../../../platform/exact_json.ts';
import type { LakeTable } from '../../model/lake_catalog/tables.ts';
import type { Long, Snapshot } from '../lake/table_metadata.ts';
import { delivery_key, lastDeliveryKey } from './catalogs/catalog.ts';
import type { DeliveryName, Shown } from './catalogs/catalog.ts';

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
 * Looks what readers of a table of our catalog see of a delivery. It is shown if the current
 * snapshot or an ancestor has it, or if it is the last one of the export and its snapshot has
 * expired.
 */
export async function shownIn(
  db: Queryable,
  table: LakeTable,
  { delivery_id, batch_export_id }: DeliveryName,
): Promise<Shown> {
  const { properties, 'current-snapshot-id': current } = table.metadata;
  const head = current === undefined ? null : String(current);
  const found = await db.row<{ is_known: boolean; is_shown: boolean }>(sql`
    WITH RECURSIVE known AS MATERIALIZED (
      SELECT snapshot_id, snapshot::jsonb AS snapshot FROM lake_snapshots
      WHERE table_id = ${table.id}::uuid
    ), line AS (
      SELECT snapshot FROM known WHERE snapshot_id = ${head}::bigint
      UNION ALL
      SELECT known.snapshot FROM line
      JOIN known ON known.snapshot_id = (line.snapshot ->> 'parent-snapshot-id')::bigint
    )
    SELECT
      EXISTS (SELECT 1 FROM known
        WHERE snapshot -> 'summary' ->> ${delivery_key} = ${delivery_id}) AS is_known,
      EXISTS (SELECT 1 FROM line
        WHERE snapshot -> 'summary' ->> ${delivery_key} = ${delivery_id}) AS is_shown`);
  if (found!.is_known) return found!.is_shown ? 'shown' : 'rolled_back';
  const is_last = properties[lastDeliveryKey(batch_export_id)] === delivery_id;
  return is_last && head !== null ? 'shown' : 'absent';
}
