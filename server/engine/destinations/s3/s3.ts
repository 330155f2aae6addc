import { NonRetryableError } from '../../model/destination/errors.ts';
import type { DestinationDefinition } from '../../model/destination/destination.ts';
import { defineObjectStore } from '../object_store/define.ts';
import { openBucket } from '../object_store/s3_bucket.ts';
import { isServersRole, isWithoutKey, placeOf } from '../object_store/aws_role.ts';
import { no_environment_credentials, s3_config, s3Violations } from './config.ts';

/** Objects in a bucket of AWS S3 or of another store that speaks S3. */
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
  openStore: async (config, deps) => {
    // The operator may have changed the setting since the export was created.
    const isServersOwn = isWithoutKey(config) && !isServersRole(config);
    if (isServersOwn && deps.has_environment_credentials !== true)
      throw new NonRetryableError('authentication_failed', no_environment_credentials);
    return openBucket(placeOf(config, deps), deps.outbound, deps.signal);
  },
});
