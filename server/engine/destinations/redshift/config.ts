import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { ConfigViolation, OperatorRules } from '../../model/destination/destination.ts';
import {
  bucketViolations,
  dotViolations,
  endpointViolations,
  textOf,
} from '../object_store/config_rules.ts';
import { isServersRole, role_keys, roleViolations } from '../object_store/aws_role.ts';
import type { S3Place } from '../object_store/s3_place.ts';
import { schemaTarget } from '../sql_tables/target.ts';
import type { SchemaTarget } from '../sql_tables/target.ts';
import type { ServerAccess } from '../sql_tables/postgres/connection.ts';
import {
  defaultChoice,
  defaultPort,
  defaultText,
  optionalText,
  requiredText,
} from '../../model/destination/config_keys.ts';
import { violation } from '../../model/destination/violation.ts';
import { sshAccessOf, sshViolations, ssh_keys } from '../sql_tables/ssh/ssh_config.ts';
import {
  hostViolations,
  receiptsViolations,
  require_tls_key,
  self_signed_key,
  tableKey,
} from '../sql_tables/config_rules.ts';

/** The keys of a Redshift destination. */
export const redshift_config = Type.Object(
  {
    host: requiredText(
      253,
      'The endpoint of the cluster or workgroup, without the port and the database.',
    ),
    port: defaultPort(5439),
    database: requiredText(127),
    user: requiredText(127, 'A user that may create the table or write to it.'),
    password: requiredText(1000),
    schema: defaultText('public', 127, 'It must exist.'),
    table_name: tableKey(127),
    properties_data_type: defaultChoice(
      ['varchar', 'super'],
      'Applies when Sluice creates the table. `varchar` keeps the JSON text, up to 65,535 bytes. ' +
        '`super` keeps the parsed value.',
    ),
    mode: defaultChoice(
      ['INSERT', 'COPY'],
      '`INSERT` sends rows in statements. `COPY` loads them from a bucket and is much faster.',
    ),
    bucket_name: optionalText(
      255,
      'Mode `COPY` needs it. Sluice writes the rows to this bucket and deletes them after loading.',
    ),
    region: optionalText(64, 'The region of the bucket. Mode `COPY` needs it.'),
    prefix: optionalText(500, 'With mode `COPY`, object keys in the bucket begin with this text.'),
    aws_access_key_id: optionalText(
      200,
      'With mode `COPY`, the key with which Sluice writes to the bucket.',
    ),
    aws_secret_access_key: optionalText(1000),
    ...role_keys,
    iam_role: optionalText(
      2048,
      'With mode `COPY`, the ARN of the role with which the cluster reads the bucket, or ' +
        '`default`. If null or empty, the cluster gets the access key.',
    ),
    endpoint_url: optionalText(
      2048,
      'With mode `COPY`, another way for Sluice to the same bucket, such as a VPC endpoint. If ' +
        'null or empty, Sluice uses the endpoint of AWS.',
    ),
    require_tls: require_tls_key,
    has_self_signed_cert: self_signed_key,
    ...ssh_keys,
  },
  { additionalProperties: false },
);

/** The values of the keys that a user has set. */
export type RedshiftConfig = Static<typeof redshift_config>;

/**
 * Returns the target's parts, its quoted name, the quoted name of the receipts, and the name for
 * users.
 */
export function targetOf(config: RedshiftConfig): SchemaTarget {
  return schemaTarget(config);
}

/**
 * Returns the access to the cluster. Its sessions use UTC, set no time limit for statements, and
 * never shorten a string of a SUPER value.
 */
export function accessOf(config: RedshiftConfig): ServerAccess {
  return {
    ...config,
    port: config.port ?? 5439,
    ssh: sshAccessOf(config),
    session:
      "SET timezone TO 'UTC'; SET statement_timeout TO 0; SET json_parse_truncate_strings TO OFF",
  };
}

/** Returns the bucket of the mode COPY. */
export function bucketOf(config: RedshiftConfig): S3Place {
  const { bucket_name, region, endpoint_url, ...keys } = config;
  const { aws_access_key_id, aws_secret_access_key, aws_role_arn, aws_external_id } = keys;
  return {
    bucket_name: bucket_name ?? '',
    region: region ?? '',
    aws_access_key_id,
    aws_secret_access_key,
    aws_role_arn,
    aws_external_id,
    endpoint_url,
  };
}

/** Checks rules that the schema cannot express. */
export function redshiftViolations(
  config: RedshiftConfig,
  rules: OperatorRules = {},
): ConfigViolation[] {
  const found = [
    ...hostViolations(config.host),
    ...sshViolations(config),
    ...receiptsViolations(config.table_name?.toLowerCase()),
  ];
  for (const attr of ['user', 'password', 'database', 'schema', 'table_name'] as const) {
    if (config[attr]?.includes('\0') === true) found.push(violation(attr, 'It must not hold NUL.'));
    if (attr !== 'password' && Buffer.byteLength(config[attr] ?? '') > 127)
      found.push(violation(attr, 'Redshift accepts names of at most 127 bytes.'));
  }
  return config.mode === 'COPY' ? [...found, ...copyViolations(config, rules)] : found;
}

const role = 'arn:aws[a-z-]*:iam::[0-9]{12}:role/[0-9A-Za-z+=.@_/-]+';
const roles = new RegExp(`^(default|${role}(,${role})*)$`);

function copyViolations(config: RedshiftConfig, rules: OperatorRules): ConfigViolation[] {
  const keys = ['aws_access_key_id', 'aws_secret_access_key'] as const;
  const required = ['bucket_name', 'region', ...(isServersRole(config) ? [] : keys)] as const;
  const found: ConfigViolation[] = required
    .filter((attr) => textOf(config[attr]) === undefined)
    .map((attr) => violation(attr, 'The mode COPY needs it.', 'required'));
  found.push(...roleViolations(config, rules));
  if (textOf(config.aws_role_arn) !== undefined && textOf(config.iam_role) === undefined)
    found.push(
      violation(
        'iam_role',
        'With an aws_role_arn, the cluster needs its own role to read the bucket. Give its ARN.',
        'required',
      ),
    );
  const missing = new Set(found.map(({ attr }) => attr));
  found.push(...bucketViolations(bucketOf(config)).filter(({ attr }) => !missing.has(attr)));
  // These become literals of the statement COPY, which a quote or a backslash could end or change.
  for (const attr of ['prefix', 'aws_access_key_id', 'aws_secret_access_key'] as const) {
    if (/['"\\\p{Cc}]/u.test(config[attr] ?? ''))
      found.push(violation(attr, 'It must not hold quotes, backslashes or control characters.'));
  }
  if (textOf(config.iam_role) !== undefined && !roles.test(config.iam_role ?? ''))
    found.push(
      violation(
        'iam_role',
        'It must be the ARN of a role, such as arn:aws:iam::123456789012:role/name, or `default`.',
      ),
    );
  return [
    ...found,
    ...dotViolations(config.prefix ?? ''),
    ...endpointViolations(textOf(config.endpoint_url)),
  ];
}
