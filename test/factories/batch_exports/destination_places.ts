// Length: one list, with the places of every destination.
import { newSshKey } from '../ssh_keys.ts';
import { own_keys } from '../people/rsa_keys.ts';

type Config = Record<string, unknown>;

/**
 * A stored config with all its possible secrets, and a test value for a change of each key of its
 * type.
 */
export type PlacesCase = {
  type: string;
  config: Config;
  /** Changes of keys that name a place; each requires every secret that it does not contain. */
  moves: Config[];
  /** Changes that keep every secret. */
  stays: Config[];
};

const { private_pem: private_key } = own_keys;
const key_file = JSON.stringify({
  type: 'service_account',
  client_email: 'writer@sluice-demo.iam.gserviceaccount.com',
  private_key,
});

const passphrase = 'pl4nted-phrase';
const { private: ssh_key } = newSshKey({
  passphrase,
  cipher: 'aes256-ctr',
  rounds: 1,
});
const server = { user: 'writer', password: 'pl4nted-word', host: 'db.example.com', database: 'd' };
const less_safe = [{ has_self_signed_cert: true }, { require_tls: false }];
const other_server = [{ host: 'listener.example.com' }, { port: 7 }, { user: 'other' }];
const file_changes = [
  { prefix: 'other' },
  { file_format: 'CSV' },
  { compression: 'gzip' },
  { max_file_size_mb: 7 },
  { partition_by: ['date'] },
];
const ssh = {
  ssh_host: 'bastion.example.com',
  ssh_user: 'tunnel',
  ssh_private_key: ssh_key,
  ssh_private_key_passphrase: passphrase,
  ssh_password: 'pl4nted-word',
};
const other_tunnel = [
  { ssh_host: 'listener.example.com' },
  { ssh_port: 2222 },
  { ssh_user: 'other' },
  { ssh_host_key: `SHA256:${'A'.repeat(43)}` },
];
const tables = [{ database: 'other' }, { schema: 'other' }, { table_name: 'other' }];
const bucket = {
  bucket_name: 'my-bucket',
  region: 'eu-central-1',
  aws_access_key_id: 'AKIAPLANTED',
  aws_secret_access_key: 'pl4nted-word',
};
const other_bucket = [
  { bucket_name: 'other-bucket' },
  { region: 'us-east-1' },
  { endpoint_url: 'https://listener.example.com' },
];

const role = { aws_role_arn: 'arn:aws:iam::123456789012:role/exports', aws_external_id: 'ours' };
const other_role = [
  { aws_role_arn: 'arn:aws:iam::123456789012:role/other' },
  { aws_external_id: 'other' },
];

/**
 * All destination types, with the keys that name a place and the other keys. Together they are all
 * keys of a type except the secrets.
 */
export const places_cases: PlacesCase[] = [
  {
    type: 'S3',
    config: { ...bucket, prefix: '' },
    moves: [...other_bucket, { use_virtual_style_addressing: true }],
    stays: [...file_changes, { encryption: 'aws:kms', kms_key_id: 'k' }],
  },
  {
    type: 'S3',
    config: { ...bucket, ...role, prefix: '' },
    moves: other_role,
    stays: [{ prefix: 'other' }],
  },
  {
    type: 'AzureBlob',
    config: { container_name: 'events', prefix: '', account_name: 'house', account_key: 'a2V5' },
    moves: [{ account_name: 'other' }, { endpoint_url: 'https://listener.example.com' }],
    stays: [
      ...file_changes,
      { container_name: 'other' },
      {
        connection_string: 'AccountName=other;AccountKey=a2V5;DefaultEndpointsProtocol=https',
        account_name: null,
        account_key: null,
      },
    ],
  },
  {
    type: 'AzureBlob',
    config: { container_name: 'events', prefix: '', account_name: 'house', sas_token: 'sig=a2V5' },
    moves: [{ account_name: 'other' }, { endpoint_url: 'https://listener.example.com' }],
    stays: [{ account_key: 'a2V5', sas_token: null }],
  },
  {
    type: 'GCS',
    config: { bucket_name: 'my-bucket', prefix: '', service_account_json: key_file },
    moves: [{ bucket_name: 'other-bucket' }, { endpoint_url: 'https://listener.example.com' }],
    stays: file_changes,
  },
  {
    type: 'Postgres',
    config: { ...server, ...ssh },
    moves: [...other_server, ...less_safe, ...other_tunnel],
    stays: tables,
  },
  {
    type: 'Redshift',
    config: {
      ...server,
      ...ssh,
      mode: 'COPY',
      ...bucket,
      ...role,
      iam_role: 'arn:aws:iam::123456789012:role/reads',
    },
    moves: [
      ...other_server,
      ...other_tunnel,
      ...less_safe,
      ...other_bucket,
      ...other_role,
      { mode: 'INSERT' },
      { iam_role: 'default' },
    ],
    stays: [...tables, { prefix: 'other' }, { properties_data_type: 'super' }],
  },
  {
    type: 'Snowflake',
    config: {
      account: 'house-main',
      user: 'writer',
      password: 'pl4nted-word',
      database: 'd',
      warehouse: 'w',
      schema: 's',
    },
    moves: [{ account: 'house-other' }, { host: 'listener.example.com' }, { user: 'other' }],
    stays: [
      ...tables,
      { warehouse: 'other' },
      { role: 'other' },
      { authentication_type: 'keypair', private_key },
    ],
  },
  {
    type: 'BigQuery',
    config: {
      project_id: 'sluice-demo',
      dataset_id: 'd',
      private_key,
      private_key_id: 'pl4nted-word',
      token_uri: 'https://oauth2.googleapis.com/token',
      client_email: 'writer@sluice-demo.iam.gserviceaccount.com',
    },
    moves: [{ project_id: 'sluice-other' }, { token_uri: 'https://listener.example.com/token' }],
    stays: [{ dataset_id: 'other' }, { table_id: 'other' }, { use_json_type: true }],
  },
  {
    type: 'ClickHouse',
    config: { url: 'https://ch.example.com:8443', password: 'pl4nted-word' },
    moves: [
      { url: 'http://ch.example.com:8443' },
      { user: 'other' },
      { has_self_signed_cert: true },
    ],
    stays: [{ database: 'other' }, { table_name: 'other' }],
  },
  {
    type: 'MySQL',
    config: { ...server, ...ssh },
    moves: [...other_server, ...less_safe, ...other_tunnel],
    stays: [{ database: 'other' }, { table_name: 'other' }],
  },
  {
    type: 'HTTP',
    config: {
      url: 'https://api.example.com/take',
      token: 'pl4nted-word',
      headers: { 'x-key': 'pl4nted-word' },
      signing_secret: `whsec_${Buffer.alloc(24, 'pl4nted').toString('base64')}`,
    },
    moves: [{ url: 'https://api.example.com/other' }],
    stays: [
      { body_format: 'JSONArray' },
      { compression: 'gzip' },
      { max_request_records: 7 },
      { max_request_size_mb: 7 },
    ],
  },
  {
    type: 'Iceberg',
    config: { storage: 'S3', table: 'events', ...bucket, ...role },
    moves: [
      ...other_bucket,
      ...other_role,
      { use_virtual_style_addressing: true },
      { storage: 'File' },
    ],
    stays: [
      { table: 'other' },
      { namespace: 'other' },
      { format_version: 3 },
      { prefix: 'other' },
      { partition_by: ['day(timestamp)'] },
      { sort_by: ['timestamp'] },
      { encryption: 'aws:kms', kms_key_id: 'k' },
    ],
  },
  { type: 'Iceberg', config: { storage: 'File', table: 'events' }, moves: [], stays: [] },
  {
    type: 'Iceberg',
    config: {
      storage: 'File',
      table: 'events',
      catalog: 'rest',
      catalog_uri: 'https://catalog.example.com',
      catalog_client_id: 'writer',
      catalog_client_secret: 'pl4nted-word',
      catalog_headers: { 'x-key': 'pl4nted-word' },
    },
    moves: [
      { catalog_uri: 'https://listener.example.com' },
      { catalog_client_id: 'other' },
      { catalog_token_uri: 'https://listener.example.com/token' },
    ],
    stays: [{ catalog_warehouse: 'other' }, { catalog_scope: 'other' }],
  },
  {
    type: 'Iceberg',
    config: {
      storage: 'S3',
      table: 'events',
      ...bucket,
      catalog: 'rest',
      catalog_signing_name: 's3tables',
      catalog_warehouse: `arn:aws:s3tables:${bucket.region}:123456789012:bucket/lake`,
    },
    moves: [{ catalog_uri: 'https://listener.example.com' }, { catalog_signing_name: 'glue' }],
    stays: [{ catalog_warehouse: `arn:aws:s3tables:${bucket.region}:123456789012:bucket/other` }],
  },
  {
    type: 'Iceberg',
    config: {
      storage: 'File',
      table: 'events',
      catalog: 'rest',
      catalog_uri: 'https://catalog.example.com',
      catalog_token: 'pl4nted-word',
    },
    moves: [{ catalog: 'sluice' }],
    stays: [],
  },
  {
    type: 'Delta',
    config: { storage: 'S3', table: 'events', ...bucket, ...role },
    moves: [
      ...other_bucket,
      ...other_role,
      { use_virtual_style_addressing: true },
      { storage: 'File' },
    ],
    stays: [
      { table: 'other' },
      { prefix: 'other' },
      { encryption: 'aws:kms', kms_key_id: 'k' },
      { partition_by: ['event'], sort_by: ['timestamp'] },
    ],
  },
  ...inStores('Iceberg'),
  ...inStores('Delta'),
  { type: 'Delta', config: { storage: 'File', table: 'events' }, moves: [], stays: [] },
  { type: 'File', config: { prefix: '' }, moves: [], stays: file_changes },
  { type: 'NoOp', config: {}, moves: [], stays: [{ arg: 'other' }] },
];

/** Tables of a format in stores with their own keys. */
function inStores(type: string): PlacesCase[] {
  return [
    {
      type,
      config: {
        storage: 'GCS',
        table: 'events',
        bucket_name: 'my-bucket',
        service_account_json: key_file,
      },
      moves: [{ bucket_name: 'other-bucket' }, { endpoint_url: 'https://listener.example.com' }],
      stays: [{ table: 'other' }],
    },
    {
      type,
      config: {
        storage: 'AzureBlob',
        table: 'events',
        container_name: 'events',
        account_name: 'house',
        account_key: 'a2V5',
      },
      moves: [{ account_name: 'other' }, { endpoint_url: 'https://listener.example.com' }],
      stays: [
        { container_name: 'other' },
        {
          connection_string: 'AccountName=other;AccountKey=a2V5;DefaultEndpointsProtocol=https',
          account_name: null,
          account_key: null,
        },
      ],
    },
    {
      type,
      config: {
        storage: 'AzureBlob',
        table: 'events',
        container_name: 'events',
        account_name: 'house',
        sas_token: 'sig=a2V5',
      },
      moves: [{ account_name: 'other' }],
      stays: [{ table: 'other' }],
    },
  ];
}
