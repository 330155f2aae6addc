import { randomUUID } from 'node:crypto';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { RetryableError } from '../../model/destination/errors.ts';
import type { Delivery, EndOfRun } from '../../model/destination/destination.ts';
import { commitTable } from '../../model/lake_catalog/commit.ts';
import { findTable, holdTable } from '../../model/lake_catalog/tables.ts';
import type { LakeTable } from '../../model/lake_catalog/tables.ts';
import { manifestListOf, manifestOf, newSnapshotId, snapshotOf } from '../lake/append.ts';
import type { Append, StoredManifest } from '../lake/append.ts';
import type { DataFile } from '../lake/manifest.ts';
import { readManifestList } from '../lake/manifest_list.ts';
import type { TableState } from '../lake/table_metadata.ts';
import { tableName } from './config.ts';
import { delivery_key, findSnapshot, isShown, lastDeliveryKey } from './delivered.ts';
import { explained, metadataOf, surroundings } from './table.ts';
import { putFile, readFile } from './world.ts';
import type { World } from './world.ts';

/** A delivery whose files are stored; `table_uuid` is the table that they were written for. */
export type StoredDelivery = { delivery: Delivery; table_uuid: string; files: DataFile[] };

/**
 * Shows the files to the readers of the table, in the transaction that ends the run: both happen or
 * neither. A delivery that is there already is not added again. A commit that
 * fails leaves small files that no reader sees.
 */
export async function showFiles(
  world: World,
  { delivery, table_uuid, files }: StoredDelivery,
  end: EndOfRun,
): Promise<void> {
  const append: Append = {
    snapshot_id: newSnapshotId(),
    files,
    summary: { [delivery_key]: delivery.delivery_id, 'sluice.export-id': delivery.batch_export_id },
  };
  await explained(async () => {
    // It depends on no other commit, so it is stored before the table is held.
    const manifest = await storeManifest(world, await found(world, delivery, table_uuid), append);
    await end(async (tx) => {
      const held = await holdTable(tx, delivery.team_id, tableName(world.config));
      const table = same(held, table_uuid);
      if (files.length === 0 || (await isShown(tx, table, delivery))) return;
      const state = await stateOf(tx, table);
      const list = await storeList(world, state, append, manifest);
      const { now_ms } = surroundings(world);
      const snapshot = snapshotOf(state, append, list, now_ms);
      await commitTable(
        tx,
        table,
        {
          requirements: [],
          updates: [
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
          ],
        },
        surroundings(world),
      );
    });
  });
}

async function found(world: World, { team_id }: Delivery, uuid: string): Promise<LakeTable> {
  return same(await findTable(world.db, team_id, tableName(world.config)), uuid);
}

/** Files have the field ids of the table that they were written for. */
function same(table: LakeTable | undefined, uuid: string): LakeTable {
  if (table?.metadata['table-uuid'] === uuid) return table;
  throw new RetryableError(
    'slice_lost',
    'The table was dropped, or dropped and created again, while its files were written; they are ' +
      'written again.',
  );
}

async function stateOf(tx: Transaction, table: LakeTable): Promise<TableState> {
  const current = table.metadata['current-snapshot-id'];
  const parent = current === undefined ? undefined : await findSnapshot(tx, table, current);
  return { metadata: metadataOf(table), parent };
}

async function storeManifest(
  world: World,
  table: LakeTable,
  append: Append,
): Promise<StoredManifest> {
  const bytes = manifestOf(metadataOf(table), append);
  const path = `${table.location}/metadata/${randomUUID()}-m0.avro`;
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
