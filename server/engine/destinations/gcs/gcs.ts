import type { DestinationDefinition } from '../../model/destination/destination.ts';
import { defineObjectStore } from '../object_store/define.ts';
import { openBucket } from './bucket.ts';
import { gcs_config, gcsViolations } from './config.ts';

/** Objects in a bucket of Google Cloud Storage. */
export const gcs: DestinationDefinition<typeof gcs_config> = defineObjectStore({
  type: 'GCS',
  label: 'Google Cloud Storage',
  config: gcs_config,
  secrets: ['service_account_json'],
  where: ['bucket_name', 'endpoint_url'],
  connection: ['service_account_json', 'endpoint_url'],
  validate: gcsViolations,
  openStore: (config, deps) => openBucket(config, deps.outbound, deps.signal),
});
