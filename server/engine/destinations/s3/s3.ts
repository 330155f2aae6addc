import { NonRetryableError } from '../../model/destination/errors.ts';
import type {
  DestinationDefinition,
  DestinationDeps,
} from '../../model/destination/destination.ts';
import type { LakePlace } from '../lake/place.ts';
import { defineObjectStore, smallFiles } from '../object_store/define.ts';
import { openBucket } from '../object_store/s3_bucket.ts';
import { isServersRole, isWithoutKey, placeOf } from '../object_store/aws_role.ts';
import type { ObjectStore } from '../object_store/object_store.ts';
import { no_environment_credentials, s3_config, s3Violations } from './config.ts';
import type { S3Config } from './config.ts';

/** Objects in a bucket of AWS S3 or of another S3-compatible store. */
export const s3: DestinationDefinition<typeof s3_config> = defineObjectStore({
  type: 'S3',
  label: 'S3',
  config: s3_config,
  secrets: ['aws_access_key_id', 'aws_secret_access_key'],
  where: [
    'bucket_name',
    'region',
    'endpoint_url',
    'use_virtual_style_addressing',
    'aws_role_arn',
    'aws_external_id',
  ],
  connection: [
    'aws_access_key_id',
    'aws_secret_access_key',
    'aws_role_arn',
    'aws_external_id',
    'endpoint_url',
    'use_virtual_style_addressing',
  ],
  only_with: [{ keys: ['kms_key_id'], key: 'encryption', values: ['aws:kms'] }],
  validate: s3Violations,
  openStore,
});

/** A place for tables in a bucket. */
export const s3_place: LakePlace = {
  definition: s3,
  openFiles: (config, deps) => smallFiles(openStore(config as S3Config, deps)),
  root: ({ bucket_name }) => `s3://${String(bucket_name)}/`,
};

async function openStore(config: S3Config, deps: DestinationDeps): Promise<ObjectStore> {
  // The operator may have changed the setting since the export was created.
  const isServersOwn = isWithoutKey(config) && !isServersRole(config);
  if (isServersOwn && deps.has_environment_credentials !== true)
    throw new NonRetryableError('authentication_failed', no_environment_credentials);
  return openBucket(placeOf(config, deps), deps.outbound, deps.signal);
}
