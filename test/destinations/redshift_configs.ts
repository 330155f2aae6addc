/** Changes that make a config invalid, each with the key that the fault names. */
export const invalid = [
  { name: 'host with its port', change: { host: 'cluster.example.com:5439/dev' } },
  { name: 'table of receipts', change: { table_name: 'Sluice_Receipts' } },
  { name: 'NUL in a name', change: { table_name: 'a\0b' } },
  { name: 'name of more than 127 bytes', change: { table_name: 'é'.repeat(70) } },
  { name: 'no such type', change: { properties_data_type: 'json' } },
  { name: 'no such mode', change: { mode: 'copy' } },
  { name: 'a bucket is missing', change: { mode: 'COPY' }, attr: 'bucket_name' },
];

/** The same for a config that loads by COPY. */
export const copy_invalid = [
  { name: 'no bucket', change: { bucket_name: null } },
  { name: 'bucket is a path', change: { bucket_name: 'a/../b' } },
  { name: 'no region', change: { region: undefined } },
  { name: 'no key', change: { aws_access_key_id: undefined } },
  { name: 'no secret', change: { aws_secret_access_key: '' } },
  { name: 'quote in a secret', change: { aws_secret_access_key: "x' y" } },
  { name: 'prefix that leads out', change: { prefix: 'a/../..' } },
  { name: 'backslash in a prefix', change: { prefix: 'a\\' } },
  { name: 'role is a name', change: { iam_role: 'loads' } },
  { name: 'endpoint without protocol', change: { endpoint_url: 's3.example.com' } },
];

/** Faults that only COPY has. */
export const copy_mistakes = [
  {
    name: 'role of another',
    change: { iam_role: 'arn:aws:iam::123456789012:role/other' },
    code: 'permission_denied',
  },
];
