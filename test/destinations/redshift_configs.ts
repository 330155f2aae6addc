import type { Config } from './destination_world.ts';

type Unworkable = { name: string; config: Config; code: string };

/** Changes that no config passes with, each with the key that is named. */
export const invalid = [
  { name: 'no host', change: { host: undefined }, attr: 'host' },
  { name: 'host with its port', change: { host: 'cluster.example.com:5439/dev' }, attr: 'host' },
  { name: 'port is text', change: { port: '5439' }, attr: 'port' },
  { name: 'schema is null', change: { schema: null }, attr: 'schema' },
  { name: 'table of receipts', change: { table_name: 'Sluice_Receipts' }, attr: 'table_name' },
  { name: 'NUL in a name', change: { table_name: 'a\0b' }, attr: 'table_name' },
  {
    name: 'name of more than 127 bytes',
    change: { table_name: 'é'.repeat(70) },
    attr: 'table_name',
  },
  { name: 'no such type', change: { properties_data_type: 'json' }, attr: 'properties_data_type' },
  { name: 'no such mode', change: { mode: 'copy' }, attr: 'mode' },
  { name: 'a bucket is missing', change: { mode: 'COPY' }, attr: 'bucket_name' },
];

/** The same of a config that loads by COPY. */
export const copy_invalid = [
  { name: 'no bucket', change: { bucket_name: null }, attr: 'bucket_name' },
  { name: 'bucket is a path', change: { bucket_name: 'a/../b' }, attr: 'bucket_name' },
  { name: 'no region', change: { region: undefined }, attr: 'region' },
  { name: 'no key', change: { aws_access_key_id: undefined }, attr: 'aws_access_key_id' },
  { name: 'no secret', change: { aws_secret_access_key: '' }, attr: 'aws_secret_access_key' },
  {
    name: 'quote in a secret',
    change: { aws_secret_access_key: "x' y" },
    attr: 'aws_secret_access_key',
  },
  { name: 'backslash in a prefix', change: { prefix: 'a\\' }, attr: 'prefix' },
  { name: 'role is a name', change: { iam_role: 'loads' }, attr: 'iam_role' },
  {
    name: 'endpoint without protocol',
    change: { endpoint_url: 's3.example.com' },
    attr: 'endpoint_url',
  },
];

/** Configs that look right and cannot work, with the code of the error; `other` is a table. */
export const unworkable = (config: Config): Unworkable[] => [
  {
    name: 'wrong password',
    config: { ...config, password: 'wrong-password' },
    code: 'authentication_failed',
  },
  {
    name: 'no such database',
    config: { ...config, database: 'nothing' },
    code: 'database_missing',
  },
  { name: 'no such schema', config: { ...config, schema: 'nothing' }, code: 'schema_missing' },
  {
    name: 'no such host',
    config: { ...config, host: 'no-such-host.invalid' },
    code: 'host_not_found',
  },
  {
    name: 'a private address',
    config: { ...config, host: '10.0.0.1' },
    code: 'outbound_refused',
  },
  {
    name: 'missing columns',
    config: { ...config, table_name: 'other' },
    code: 'columns_missing',
  },
  {
    name: 'certificate not verified',
    config: { ...config, has_self_signed_cert: false },
    code: 'tls_not_verified',
  },
];

/** The same of what COPY needs beside. */
export const unworkableCopy = (config: Config): Unworkable[] => [
  {
    name: 'wrong secret',
    config: { ...config, aws_secret_access_key: 'a-secret-of-nobody' },
    code: 'authentication_failed',
  },
  {
    name: 'no such bucket',
    config: { ...config, bucket_name: 'no-such-bucket' },
    code: 'bucket_missing',
  },
  {
    name: 'metadata service',
    config: { ...config, endpoint_url: 'http://169.254.169.254/' },
    code: 'outbound_refused',
  },
  {
    name: 'role of another',
    config: { ...config, iam_role: 'arn:aws:iam::123456789012:role/other' },
    code: 'permission_denied',
  },
];
