import type { Delivery, EndOfRun } from '../../model/destination/destination.ts';
import type { DataFile } from '../lake/manifest.ts';
import type { SnapshotChange } from '../lake/snapshot_change.ts';
import { openSnapshot } from '../lake/store_snapshot.ts';
import type { TableState } from '../lake/table_metadata.ts';
import { delivery_key, lastDeliveryKey } from './catalogs/catalog.ts';
import { requireSameTable } from './catalogs/same_table.ts';
import { metaFiles } from './world.ts';
import type { World } from './world.ts';

/** A delivery whose files are stored; `table_uuid` is the table that they were written for. */
export type StoredDelivery = { delivery: Delivery; table_uuid: string; files: DataFile[] };

/**
 * Shows the files to the readers of the table by one commit to its catalog. A delivery that is
 * there already is not added again. A commit that fails leaves small files that no reader sees.
 */
export async function showFiles(
  world: World,
  { delivery, table_uuid, files }: StoredDelivery,
  end: EndOfRun,
): Promise<void> {
  const { catalog, clock } = world;
  const change: SnapshotChange = {
    snapshot_id: await catalog.snapshotId(delivery),
    operation: 'append',
    added: files,
    removed: new Set(),
    summary: { [delivery_key]: delivery.delivery_id, 'sluice.export-id': delivery.batch_export_id },
  };
  const table = await catalog.load();
  requireSameTable(table, table_uuid);
  const snapshot = openSnapshot(metaFiles(world), change);
  // Stored before the table is held.
  await snapshot.prepare(table!);
  const prepare = async (state: TableState) => {
    if (files.length === 0) return [];
    return [
      { action: 'add-snapshot', snapshot: await snapshot.store(state, clock.now()) },
      {
        action: 'set-snapshot-ref',
        'ref-name': 'main',
        type: 'branch',
        'snapshot-id': change.snapshot_id,
      },
      {
        action: 'set-properties',
        updates: { [lastDeliveryKey(delivery.batch_export_id)]: delivery.delivery_id },
      },
    ];
  };
  await catalog.commit({ delivery, table_uuid, prepare, end });
}
