import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import type { Delivery, EndOfRun } from '../../model/destination/destination.ts';
import type { FileStatistics } from '../lake/file_statistics.ts';
import type { DataFile } from '../lake/manifest.ts';
import { partitionValue, resultType } from '../lake/partition_types.ts';
import type { SnapshotChange } from '../lake/snapshot_change.ts';
import { FilesGoneError, openSnapshot } from '../lake/store_snapshot.ts';
import { currentSchema, specOf } from '../lake/table_metadata.ts';
import type { TableMetadata, TableState } from '../lake/table_metadata.ts';
import { supersededError } from '../sql_tables/generations.ts';
import { delivery_key, generationKey, lastDeliveryKey } from './catalogs/catalog.ts';
import { requireSameTable } from './catalogs/same_table.ts';
import { unsuitable } from './table.ts';
import { metaFiles } from './world.ts';
import type { World } from './world.ts';

/** A data file in its place; its partition as text. */
export type StoredFile = {
  name: string;
  records: number;
  bytes: number;
  statistics: FileStatistics;
  partition: (string | null)[];
  spec_id: number;
  sort_order_id: number;
};

/**
 * A delivery whose files are stored. `table_uuid` is the table of the files; optional without
 * files. `removed` are the URIs of files that they replace.
 */
export type StoredDelivery = {
  delivery: Delivery;
  table_uuid: string | undefined;
  files: StoredFile[];
  removed: SnapshotChange['removed'];
  /** Throws if the files were based on another state of the table. */
  requireBase?(state: TableState): Promise<void>;
};

/**
 * Shows the files to the readers of the table by one commit to its catalog, in place of the
 * replaced ones. An existing delivery is not added again. A failed commit leaves small files that
 * no reader sees.
 */
export async function showFiles(
  world: World,
  { delivery, files, removed, requireBase, ...stored }: StoredDelivery,
  end: EndOfRun,
): Promise<void> {
  const { catalog, clock } = world;
  const table = await catalog.loadRecent();
  const table_uuid = stored.table_uuid ?? table?.metadata['table-uuid'] ?? '';
  requireSameTable(table, table_uuid);
  const change: SnapshotChange = {
    snapshot_id: await catalog.snapshotId(delivery),
    operation: operationOf(files, removed),
    added: files.map((file) => dataFile(world, table!.metadata, file)),
    removed,
    summary: {
      [delivery_key]: delivery.delivery_id,
      'sluice.export-id': delivery.batch_export_id,
      ...(delivery.generation === undefined ? {} : { 'sluice.generation': delivery.generation }),
    },
  };
  const snapshot = openSnapshot(metaFiles(world), change);
  const isEmpty = files.length === 0 && removed !== 'all' && removed.size === 0;
  // Stored before the table is locked.
  if (!isEmpty) await explained(() => snapshot.prepare(table!));
  const prepare = (state: TableState) =>
    explained(async () => {
      requireGeneration(world, state, delivery);
      await requireBase?.(state);
      const updates = [
        { action: 'set-properties', updates: propertiesOf(delivery) } as Record<string, unknown>,
      ];
      if (isEmpty) return updates;
      return [
        { action: 'add-snapshot', snapshot: await snapshot.store(state, clock.now()) },
        {
          action: 'set-snapshot-ref',
          'ref-name': 'main',
          type: 'branch',
          'snapshot-id': change.snapshot_id,
        },
        ...updates,
      ];
    });
  await catalog.commit({ delivery, table_uuid, prepare, end });
}

function operationOf(
  files: readonly StoredFile[],
  removed: SnapshotChange['removed'],
): SnapshotChange['operation'] {
  if (removed !== 'all' && removed.size === 0) return 'append';
  return files.length === 0 ? 'delete' : 'overwrite';
}

function dataFile(
  { root }: World,
  metadata: TableMetadata,
  { name, partition, ...file }: StoredFile,
): DataFile {
  const schema = currentSchema(metadata);
  const { fields } = specOf(metadata, file.spec_id);
  return {
    ...file,
    path: root + name,
    partition: fields.map((field, index) =>
      partitionValue(resultType(schema, field), partition[index] ?? null),
    ),
  };
}

function propertiesOf({ batch_export_id, delivery_id, generation }: Delivery) {
  return {
    [lastDeliveryKey(batch_export_id)]: delivery_id,
    ...(generation === undefined ? {} : { [generationKey(batch_export_id)]: generation }),
  };
}

/**
 * Throws `superseded` if the table has a later generation, and `table_shared` if it has rows of
 * another export, which a generation would remove.
 */
function requireGeneration(
  world: World,
  { metadata: { properties } }: TableState,
  { batch_export_id, generation }: Delivery,
): void {
  if (generation === undefined) return;
  const own = lastDeliveryKey(batch_export_id);
  const why = 'it has rows of another export, and replacing it would remove them.';
  const said = unsuitable(world, why);
  const others = lastDeliveryKey('');
  if (Object.keys(properties).some((key) => key.startsWith(others) && key !== own))
    throw new NonRetryableError('table_shared', `${said.message} Export to another table.`);
  if ((properties[generationKey(batch_export_id)] ?? '') > generation) throw supersededError();
}

/** The files to replace are gone: another writer came first. */
async function explained<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof FilesGoneError)) throw error;
    throw new RetryableError('conflict', `${error.message} Sluice retries the run.`, {
      cause: error,
    });
  }
}
