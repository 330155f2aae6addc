import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { loadConfig } from '../../model/destination/stored_config.ts';
import type { StoredConfig } from '../../model/destination/stored_config.ts';
import { LakeRefused } from '../../model/lake_catalog/refusal.ts';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import { table_places } from '../../destinations/index.ts';
import { placeOf } from '../../destinations/object_store/aws_role.ts';
import type { S3Place } from '../../destinations/object_store/s3_place.ts';
import type { Engine } from '../engine.ts';
import { folderPlace } from './folder_place.ts';
import { bucketPlace } from './bucket_place.ts';
import { storePlace } from './store_place.ts';
import type { LakePlace } from './lake_place.ts';

const time_limit_ms = 60_000;

type Stored = StoredConfig & { destination_type: string };

/**
 * Opens the place whose credentials an export has (`storage_id`), or the project's part of the
 * server's export folder. Throws 400 for an export of the project that has no place for files.
 */
export async function openLakePlace(
  engine: Pick<Engine, 'secrets' | 'outbound' | 'export_dir' | 'aws_roles' | 'log' | 'clock'>,
  db: Queryable,
  team_id: number,
  storage_id: string | null,
): Promise<LakePlace> {
  if (storage_id === null) return folderPlace(engine.export_dir, team_id);
  const stored = await db.row<Stored>(sql`
    SELECT destination_type, destination_config, destination_secrets FROM batch_exports
    WHERE id = ${storage_id}::uuid AND team_id = ${team_id}`);
  if (stored === undefined)
    throw new LakeRefused('NotFoundException', `The project has no export ${storage_id}.`);
  const config = loadConfig(engine.secrets, storage_id, stored);
  if (isBucket(config)) return bucketPlace(placeOf(config, engine), team_id, engine);
  const type = (config['storage'] as string | undefined) ?? stored.destination_type;
  const store = table_places.find(({ definition }) => definition.type === type);
  if (store !== undefined && store.folder === undefined)
    return storePlace(store, config, team_id, placeDeps(engine));
  return folderPlace(engine.export_dir, team_id);
}

/** Returns the parts of the server that a place for files needs. */
function placeDeps(engine: Parameters<typeof openLakePlace>[0]): DestinationDeps {
  const { log, outbound, export_dir } = engine;
  return { log, outbound, export_dir, signal: AbortSignal.timeout(time_limit_ms) };
}

function isBucket(config: Record<string, unknown>): config is S3Place & { prefix?: string } {
  return typeof config['bucket_name'] === 'string' && typeof config['region'] === 'string';
}
