import { randomUUID } from 'node:crypto';
import type { Delivery, EndOfRun } from '../../model/destination/destination.ts';
import { manifestListOf, manifestOf, snapshotOf } from '../lake/append.ts';
import type { Append, StoredManifest } from '../lake/append.ts';
import type { DataFile } from '../lake/manifest.ts';
import { readManifestList } from '../lake/manifest_list.ts';
import type { TableMetadata, TableState } from '../lake/table_metadata.ts';
import { delivery_key, lastDeliveryKey } from './catalogs/catalog.ts';
import { requireSameTable } from './catalogs/same_table.ts';
import { putFile, readFile } from './world.ts';
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
  const { catalog } = world;
  const append: Append = {
    snapshot_id: await catalog.snapshotId(delivery),
    files,
    summary: { [delivery_key]: delivery.delivery_id, 'sluice.export-id': delivery.batch_export_id },
  };
  const table = await catalog.load();
  requireSameTable(table, table_uuid);
  // It depends on no other commit, so it is stored before the table is held.
  const manifest = await storeManifest(world, table!.metadata, append);
  const prepare = async (state: TableState) => {
    if (files.length === 0) return [];
    const list = await storeList(world, state, append, manifest);
    const snapshot = snapshotOf(state, append, list, world.clock.now());
    return [
      { action: 'add-snapshot', snapshot },
      {
        action: 'set-snapshot-ref',
        'ref-name': 'main',
        type: 'branch',
        'snapshot-id': append.snapshot_id,
      },
      {
        action: 'set-properties',
        updates: { [lastDeliveryKey(delivery.batch_export_id)]: delivery.delivery_id },
      },
    ];
  };
  await catalog.commit({ delivery, table_uuid, prepare, end });
}

async function storeManifest(
  world: World,
  metadata: TableMetadata,
  append: Append,
): Promise<StoredManifest> {
  const bytes = manifestOf(metadata, append);
  const path = `${metadata.location}/metadata/${randomUUID()}-m0.avro`;
  await putFile(world, path, bytes);
  return { path, bytes: bytes.length };
}

async function storeList(
  world: World,
  state: TableState,
  append: Append,
  manifest: StoredManifest,
): Promise<string> {
  const { parent } = state;
  const earlier =
    parent === undefined ? [] : readManifestList(await readFile(world, parent['manifest-list']));
  const { location } = state.metadata;
  const path = `${location}/metadata/snap-${append.snapshot_id}-0-${randomUUID()}.avro`;
  await putFile(world, path, manifestListOf(state, append, manifest, earlier));
  return path;
}
