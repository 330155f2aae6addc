/** Groups of destinations, in the order in which a form shows them. */
export const destination_groups = [
  'Files and object stores',
  'Databases',
  'Warehouses',
  'HTTP and tests',
] as const;

/** The introduction of a destination, for people who choose one. */
type Introduction = { group: (typeof destination_groups)[number]; about: string };

const [files, databases, warehouses, others] = destination_groups;

/** The group and one sentence of each destination type. */
export const introductions: Record<string, Introduction> = {
  S3: { group: files, about: 'JSON, CSV, Parquet or Avro files in AWS S3 or a compatible store.' },
  AzureBlob: { group: files, about: 'JSON, CSV, Parquet or Avro files in an Azure container.' },
  GCS: { group: files, about: 'JSON, CSV, Parquet or Avro files in a Google Cloud bucket.' },
  Iceberg: { group: files, about: 'Rows in a table that DuckDB, Spark and others read in place.' },
  Delta: { group: files, about: 'Rows in a Delta Lake table, for Spark, Databricks and others.' },
  Postgres: { group: databases, about: 'Rows in a table; a run is one transaction.' },
  Redshift: { group: warehouses, about: 'Rows in a table, by INSERT or by COPY from S3.' },
  Snowflake: { group: warehouses, about: 'Rows in a table, loaded through an internal stage.' },
  BigQuery: { group: warehouses, about: 'Rows in a table of a dataset, by load jobs.' },
  ClickHouse: { group: databases, about: 'Rows in a table, through the HTTP interface.' },
  MySQL: { group: databases, about: 'Rows in a table of MySQL, MariaDB or a compatible server.' },
  HTTP: { group: others, about: 'Batches of rows in POST requests to your endpoint.' },
  File: {
    group: files,
    about: 'JSON, CSV, Parquet or Avro files in the export folder of this server.',
  },
  NoOp: { group: others, about: 'Delivers nothing: for trying a schedule or a query.' },
};

/** Keys that are seldom set, by name: a form shows them only on demand. */
export const seldom_keys: readonly string[] = [
  'aws_external_id',
  'aws_role_arn',
  'encryption',
  'endpoint_url',
  'headers',
  'kms_key_id',
  'max_file_size_mb',
  'max_request_records',
  'max_request_size_mb',
  'properties_data_type',
  'signing_secret',
  'ssh_host',
  'ssh_host_key',
  'ssh_password',
  'ssh_port',
  'ssh_private_key',
  'ssh_private_key_passphrase',
  'ssh_user',
  'use_json_type',
  'use_virtual_style_addressing',
];
