import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../../platform/http/nullable.ts';
import type { ConfigViolation } from '../../destination.ts';
import { file_keys, fileViolations, prefixKey } from '../../formats/file_config.ts';
import { endpointViolations, textOf } from '../../object_store/config_rules.ts';

/** The keys of an S3 destination. */
export const s3_config = Type.Object(
  {
    bucket_name: Type.String({ minLength: 1, maxLength: 255, description: 'Bucket to write to; it must exist.' }),
    region: Type.String({ minLength: 1, maxLength: 64, description: 'Region of the bucket, as eu-central-1.' }),
    prefix: prefixKey('Beginning of the keys.'),
    aws_access_key_id: Type.String({ minLength: 1, maxLength: 200, description: "Access key. The server's own surroundings are never used instead." }),
    aws_secret_access_key: Type.String({ minLength: 1, maxLength: 1000, description: 'Secret of the access key.' }),
    ...file_keys,
    encryption: Type.Optional(
      nullable(
        Type.Unsafe<'AES256' | 'aws:kms'>({
          type: 'string',
          enum: ['AES256', 'aws:kms'],
          default: null,
          description: "Encryption at the store. Null: the bucket's own rule.",
        }),
      ),
    ),
    kms_key_id: Type.Optional(nullable(Type.String({ maxLength: 2048, default: null, description: 'Key of the encryption aws:kms.' }))),
    endpoint_url: Type.Optional(
      nullable(Type.String({ maxLength: 2048, default: null, description: 'Address of another store that speaks S3. Null or empty: AWS.' })),
    ),
    use_virtual_style_addressing: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'With an endpoint_url: the bucket is a part of the host name and not of the path. AWS itself is always addressed so.',
      }),
    ),
  },
  { additionalProperties: false },
);

/** The values of the keys, as far as a user has set them. */
export type S3Config = Static<typeof s3_config>;

/** The endpoint, or undefined for AWS; the empty text is none. */
export function endpointOf(config: S3Config): string | undefined {
  return textOf(config.endpoint_url);
}

/** Violations of rules that the schema cannot say. */
export function s3Violations(config: S3Config): ConfigViolation[] {
  const found = fileViolations(config);
  // The region becomes a part of the host name, the bucket too.
  if (!/^[A-Za-z0-9-]+$/.test(config.region))
    found.push({ attr: 'region', code: 'invalid_input', detail: 'The region must be letters, digits and hyphens, as eu-central-1.' });
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$/.test(config.bucket_name)) {
    found.push({
      attr: 'bucket_name',
      code: 'invalid_input',
      detail: 'A bucket name is at least three letters, digits, dots, hyphens or underscores, and begins and ends with a letter or digit.',
    });
  }
  if (textOf(config.kms_key_id) !== undefined && config.encryption !== 'aws:kms') {
    found.push({ attr: 'kms_key_id', code: 'invalid_input', detail: 'A kms_key_id needs the encryption aws:kms.' });
  }
  return [...found, ...endpointViolations(endpointOf(config))];
}
