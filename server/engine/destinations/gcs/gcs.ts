import type {
  DestinationDefinition,
  DestinationDeps,
} from '../../model/destination/destination.ts';
import type { LakePlace } from '../lake/place.ts';
import { defineObjectStore, smallFiles } from '../object_store/define.ts';
import type { ObjectStore } from '../object_store/object_store.ts';
import { openBucket } from './bucket.ts';
import { gcs_config, gcsViolations } from './config.ts';
import type { GcsConfig } from './config.ts';

/** Objects in a bucket of Google Cloud Storage. */
export const gcs: DestinationDefinition<typeof gcs_config> = defineObjectStore({
  type: 'GCS',
  label: 'Google Cloud Storage',
  config: gcs_config,
  secrets: ['service_account_json'],
  where: ['bucket_name', 'endpoint_url'],
  connection: ['service_account_json', 'endpoint_url'],
  validate: gcsViolations,
  openStore,
});

/** A place for tables in a bucket. */
export const gcs_place: LakePlace = {
  definition: gcs,
  openFiles: (config, deps) => smallFiles(openStore(config as GcsConfig, deps)),
  root: ({ bucket_name }) => `gs://${String(bucket_name)}/`,
};

function openStore(config: GcsConfig, deps: DestinationDeps): Promise<ObjectStore> {
  return openBucket(config, deps.outbound, deps.signal);
}
