import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { parseExactJson } from '../../../platform/json/exact_json.ts';
import { isInLine } from '../../model/lake_catalog/deliveries.ts';
import type { LakeTable } from '../../model/lake_catalog/tables.ts';
import type { Long, Snapshot } from '../lake/table_metadata.ts';
import { lastDeliveryKey } from './catalogs/catalog.ts';
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
 * Checks how readers of a table of our catalog see a delivery. It is shown if the current snapshot
 * or an ancestor has it, expired or not.
 */
export async function shownIn(
  db: Queryable,
  table: LakeTable,
  { delivery_id, batch_export_id }: DeliveryName,
): Promise<Shown> {
  const { properties, 'current-snapshot-id': current } = table.metadata;
  const is_in_line = await isInLine(db, table.id, current, delivery_id);
  if (is_in_line !== undefined) return is_in_line ? 'shown' : 'rolled_back';
  const is_last = properties[lastDeliveryKey(batch_export_id)] === delivery_id;
  return is_last && current !== undefined ? 'shown' : 'absent';
}
