import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../../platform/nullable.ts';
import type { ConfigViolation, OperatorRules } from '../../model/destination/destination.ts';
import { placed_file_keys, fileViolations, prefixKey } from '../formats/file_config.ts';
import {
  bucketViolations,
  dotViolations,
  endpointViolations,
  textOf,
} from '../object_store/config_rules.ts';
import {
  isServersRole,
  isWithoutKey,
  role_keys,
  roleViolations,
} from '../object_store/aws_role.ts';
import { defaultFlag, optionalText, requiredText } from '../../model/destination/config_keys.ts';
import { violation } from '../../model/destination/violation.ts';

/** The keys of an S3 destination. */
export const s3_config = Type.Object(
  {
    bucket_name: requiredText(255, 'It must exist.'),
    region: requiredText(64),
    aws_access_key_id: Type.Optional(
      requiredText(
        200,
        'Leave it out to use a role, or the credentials of the server if the operator allows it.',
      ),
    ),
    aws_secret_access_key: Type.Optional(requiredText(1000)),
    ...role_keys,
    prefix: prefixKey('Object keys begin with this text.'),
    ...placed_file_keys,
    encryption: Type.Optional(
      nullable(
        Type.Unsafe<'AES256' | 'aws:kms'>({
          type: 'string',
          enum: ['AES256', 'aws:kms'],
          default: null,
          description: 'If null, the default of the bucket applies.',
        }),
      ),
    ),
    kms_key_id: optionalText(2048, 'The key for encryption with `aws:kms`.'),
    endpoint_url: optionalText(
      2048,
      'For another store with the S3 protocol. If null or empty, Sluice uses AWS.',
    ),
    use_virtual_style_addressing: defaultFlag(
      false,
      'Puts the bucket into the host name instead of the path. It applies to other stores only: ' +
        'AWS always works this way.',
    ),
  },
  { additionalProperties: false },
);

/** The values of the keys that a user has set. */
export type S3Config = Static<typeof s3_config>;

/** Checks rules that the schema cannot express. */
export function s3Violations(config: S3Config, rules: OperatorRules = {}): ConfigViolation[] {
  const found = [
    ...fileViolations(config),
    ...credentialViolations(config, rules),
    ...roleViolations(config, rules),
  ];
  if (textOf(config.kms_key_id) !== undefined && config.encryption !== 'aws:kms') {
    found.push(violation('kms_key_id', 'A kms_key_id needs the encryption aws:kms.'));
  }
  return [
    ...found,
    ...dotViolations(config.prefix),
    ...bucketViolations(config),
    ...endpointViolations(textOf(config.endpoint_url)),
  ];
}

/** Refusal of a config without an access key if the operator does not allow it. */
export const no_environment_credentials =
  "Give an access key or a role: the operator does not let exports use this server's own " +
  'credentials (SLUICE_S3_ENVIRONMENT_CREDENTIALS).';

function credentialViolations(
  config: S3Config,
  { has_environment_credentials = false }: OperatorRules,
): ConfigViolation[] {
  const isKeyless = isWithoutKey(config);
  if (isServersRole(config) || (isKeyless && has_environment_credentials)) return [];
  return (['aws_access_key_id', 'aws_secret_access_key'] as const)
    .filter((attr) => textOf(config[attr]) === undefined)
    .map((attr) =>
      violation(
        attr,
        isKeyless ? no_environment_credentials : 'An access key and its secret go together.',
        'required',
      ),
    );
}
