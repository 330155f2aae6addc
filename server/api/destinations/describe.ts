import type { DestinationDefinition } from '../../engine/model/destination/destination.ts';
import { models } from '../../engine/model/models/index.ts';
import { publicSchema } from '../../platform/http/openapi/public_schema.ts';
import { model_names } from '../../engine/model/models/model.ts';
import { introductions, seldom_keys } from './introductions.ts';
import { documentedConfig } from './schema.ts';
import type { DestinationType } from './schema.ts';

type KeySchema = {
  type?: string | string[];
  enum?: unknown[];
  default?: unknown;
  title?: string;
  examples?: unknown[];
};
type KeySchemas = Record<string, KeySchema>;

/** Words in keys with a special spelling. */
const spelled: Record<string, string> = {
  aws: 'AWS',
  id: 'ID',
  kms: 'KMS',
  sas: 'SAS',
  ssh: 'SSH',
  tls: 'TLS',
  uri: 'URI',
  url: 'URL',
};

/** Labels that differ from the key; a key has the same label in all types. */
const labels: Record<string, string> = {
  account: 'Account identifier',
  account_name: 'Storage account',
  arg: 'Argument',
  authentication_type: 'Sign in with',
  aws_access_key_id: 'Access key ID',
  aws_external_id: 'External ID',
  aws_role_arn: 'Role ARN',
  aws_secret_access_key: 'Secret access key',
  bucket_name: 'Bucket',
  client_email: 'Service account email',
  container_name: 'Container',
  dataset_id: 'Dataset',
  encryption: 'Server-side encryption',
  exclude_events: 'Events to exclude',
  has_self_signed_cert: 'Allow self-signed certificates',
  iam_role: 'IAM role of the cluster',
  include_events: 'Events to include',
  max_file_size_mb: 'Maximum file size (MiB)',
  max_request_records: 'Maximum rows per request',
  max_request_size_mb: 'Maximum request size (MB)',
  mode: 'Loading method',
  partition_by: 'Partition by',
  properties_data_type: 'Type of JSON columns',
  service_account_json: 'Service account key (JSON)',
  ssh_host_key: 'SSH host key fingerprint',
  table_id: 'Table',
  table_name: 'Table',
  token: 'Bearer token',
  use_json_type: 'Store JSON columns as JSON',
  use_virtual_style_addressing: 'Use virtual-hosted-style addresses',
};

/** Example values by the name of the key; a key has the same example in all types. */
const examples: Record<string, unknown> = {
  account: 'myorganization-myaccount',
  account_name: 'acmeexports',
  bucket_name: 'acme-exports',
  container_name: 'exports',
  database: 'analytics',
  dataset_id: 'analytics',
  host: 'warehouse.example.com',
  iam_role: 'arn:aws:iam::123456789012:role/exports',
  include_events: ['signed up'],
  exclude_events: ['$pageview'],
  prefix: 'events/day={local_year}-{local_month}-{local_day}/',
  project_id: 'acme-analytics',
  region: 'eu-central-1',
  schema: 'public',
  url: 'https://warehouse.example.com',
  user: 'exports',
  warehouse: 'EXPORTS',
};

/** Describes a destination type for the API, from its definition. */
export function describeDestination(definition: DestinationDefinition): DestinationType {
  const { type, label, secrets, where, less_safe = {}, only_with = [] } = definition;
  const { connection = [], column_set, shows_as_written, changes_rows } = definition;
  const { group = 'Others', about = '' } = introductions[type] ?? {};
  const keys = Object.keys(definition.config.properties);
  return {
    type,
    label,
    group,
    about,
    config: describedConfig(definition),
    seldom_keys: seldom_keys.filter((key) => keys.includes(key)),
    secret_keys: [...secrets],
    where_keys: [...where],
    connection_keys: [...connection],
    less_safe,
    only_with: only_with.map(({ keys, key, values }) => ({
      keys: [...keys],
      key,
      values: [...values],
    })),
    formats: formatsOf(definition),
    models: model_names.map((model) => ({
      model,
      columns: models[model].columns[column_set].map(({ name, type: kind, nullable }) => ({
        name,
        type: kind,
        nullable,
      })),
    })),
    shows_as_written: shows_as_written ?? false,
    sets_rows_aside: definition.setAsideFault !== undefined,
    merges_rows: column_set === 'tables' || changes_rows === true,
  };
}

function describedConfig(definition: DestinationDefinition): Record<string, unknown> {
  const schema = documentedConfig(definition);
  const properties = Object.fromEntries(
    Object.entries<KeySchema>(schema.properties).map(([key, one]) => [
      key,
      {
        title: labels[key] ?? titleOf(key),
        ...one,
        ...(one.examples === undefined && key in examples && !definition.secrets.includes(key)
          ? { examples: [examples[key]] }
          : {}),
      },
    ]),
  );
  return publicSchema({ ...schema, properties });
}

function titleOf(key: string): string {
  const text = key
    .split('_')
    .map((word) => spelled[word] ?? word)
    .join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns the formats with the compressions that the destination's own rules accept. */
function formatsOf(definition: DestinationDefinition): DestinationType['formats'] {
  const properties: KeySchemas = definition.config.properties;
  const key = Object.keys(properties).find((name) => /^(file|body)_format$/.test(name));
  if (key === undefined) return [];
  const compressions = (properties['compression']?.enum ?? []).filter((one) => one !== null);
  const whole = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, schema.default ?? 'x']),
  );
  return (properties[key]!.enum ?? []).map((format) => ({
    key,
    format: String(format),
    compressions: compressions.map(String).filter((compression) => {
      const config = { ...whole, [key]: format, compression };
      return !definition.validate(config).some(({ attr }) => attr === 'compression');
    }),
  }));
}
