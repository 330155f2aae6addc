/** The table, and its catalog. */
export type ReadTable = {
  /** The address of the catalog. */
  uri: string;
  project_id: string;
  namespace: string;
  name: string;
  metadata_location: string;
};

/** A way to read a table: its text, with `API_KEY` for the key, and how it was tested. */
export type ReadWay = { reader: string; text: string; tried: string };

/** Lists the ways to read a table. `npm run lake` runs those that say so, exactly as shown. */
export function readWays(table: ReadTable): ReadWay[] {
  return ways.map(({ textOf, ...way }) => ({ ...way, text: textOf(table) }));
}

const spark_jar = 'iceberg-spark-runtime-4.0_2.13-1.10.0.jar';
const spark_bucket = [
  `    .config("spark.jars", "${spark_jar},iceberg-aws-bundle-1.10.0.jar")`,
  '    .config("spark.sql.catalog.lake.header.X-Iceberg-Access-Delegation",',
  '            "vended-credentials")',
];
/** It has its own client of buckets, which takes its keys from here. */
const polars_bucket =
  'given = {key: value for key, value in table.io.properties.items() if key.startswith("s3.")}\n' +
  'polars.scan_iceberg(table, storage_options=given).head(10).collect()';

function isInBucket({ metadata_location }: ReadTable): boolean {
  return metadata_location.startsWith('s3:');
}

const ways: (Omit<ReadWay, 'text'> & { textOf: (table: ReadTable) => string })[] = [
  {
    reader: 'DuckDB',
    tried: 'Run with DuckDB 1.5.5.',
    textOf: duckdbText,
  },
  {
    reader: 'Spark',
    tried: 'Run with Spark 4.0.1 and Iceberg 1.10.0. The jar is on Maven Central.',
    textOf: (table) =>
      [
        'from pyspark.sql import SparkSession',
        '',
        'spark = (',
        '    SparkSession.builder',
        ...(isInBucket(table) ? spark_bucket : [`    .config("spark.jars", "${spark_jar}")`]),
        '    .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")',
        '    .config("spark.sql.catalog.lake.type", "rest")',
        `    .config("spark.sql.catalog.lake.uri", ${JSON.stringify(table.uri)})`,
        `    .config("spark.sql.catalog.lake.warehouse", "${table.project_id}")`,
        '    .config("spark.sql.catalog.lake.token", "API_KEY")',
        '    .getOrCreate()',
        ')',
        `spark.sql(${JSON.stringify(`SELECT * FROM lake.${named(table, '`')} LIMIT 10`)}).show()`,
      ].join('\n'),
  },
  {
    reader: 'pandas',
    tried: 'Run with PyIceberg 0.12.0.',
    textOf: (table) => `${loaded(table)}\ntable.scan(limit=10).to_pandas()`,
  },
  {
    reader: 'polars',
    tried: 'Run with polars 2.1.0 and PyIceberg 0.12.0.',
    textOf: (table) =>
      isInBucket(table)
        ? `import polars\n${loaded(table)}\n${polars_bucket}`
        : `import polars\n${loaded(table)}\npolars.scan_iceberg(table).head(10).collect()`,
  },
  {
    reader: 'ClickHouse',
    tried:
      'Not run here: ClickHouse 26.9 found the table, but no files in the bucket that we tried.',
    textOf: (table) =>
      [
        'SET allow_database_iceberg = 1;',
        `CREATE DATABASE lake ENGINE = DataLakeCatalog(${quoted(`${table.uri}/v1`, "'")})`,
        `SETTINGS catalog_type = 'rest', warehouse = '${table.project_id}',`,
        "  auth_header = 'Authorization: Bearer API_KEY';",
        `SELECT * FROM lake.${quoted(`${table.namespace}.${table.name}`, '`')} LIMIT 10;`,
      ].join('\n'),
  },
  {
    reader: 'Trino',
    tried: 'Not run here: Trino needs Java 25. The file is etc/catalog/lake.properties.',
    textOf: (table) =>
      [
        'connector.name=iceberg',
        'iceberg.catalog.type=rest',
        `iceberg.rest-catalog.uri=${table.uri}`,
        `iceberg.rest-catalog.warehouse=${table.project_id}`,
        'iceberg.rest-catalog.security=OAUTH2',
        'iceberg.rest-catalog.oauth2.token=API_KEY',
        'iceberg.rest-catalog.vended-credentials-enabled=true',
        'fs.s3.enabled=true',
        '',
        `-- SELECT * FROM lake.${named(table, '"')} LIMIT 10`,
      ].join('\n'),
  },
  {
    reader: 'Snowflake',
    tried: 'Not run here: it needs an account, and files in a bucket.',
    textOf: (table) =>
      [
        'CREATE CATALOG INTEGRATION sluice',
        '  CATALOG_SOURCE = ICEBERG_REST TABLE_FORMAT = ICEBERG',
        `  REST_CONFIG = (CATALOG_URI = ${quoted(table.uri, "'")}`,
        `    WAREHOUSE = '${table.project_id}' ACCESS_DELEGATION_MODE = VENDED_CREDENTIALS)`,
        "  REST_AUTHENTICATION = (TYPE = BEARER BEARER_TOKEN = 'API_KEY')",
        '  ENABLED = TRUE;',
        `CREATE ICEBERG TABLE ${quoted(table.name, '"')} CATALOG = 'sluice'`,
        `  CATALOG_NAMESPACE = ${quoted(table.namespace, "'")}`,
        `  CATALOG_TABLE_NAME = ${quoted(table.name, "'")};`,
        `SELECT * FROM ${quoted(table.name, '"')} LIMIT 10;`,
      ].join('\n'),
  },
  {
    reader: 'BigQuery',
    tried:
      'Not run here: it needs an account, and files in GCS. It reads one metadata file, so name ' +
      'the new one after each commit.',
    textOf: (table) =>
      [
        `CREATE OR REPLACE EXTERNAL TABLE sluice.${quoted(table.name, '`')}`,
        `OPTIONS (format = 'ICEBERG', uris = [${quoted(table.metadata_location, "'")}]);`,
        `SELECT * FROM sluice.${quoted(table.name, '`')} LIMIT 10;`,
      ].join('\n'),
  },
];

/** Returns the DuckDB statements that show the first ten rows. */
export function duckdbText(table: Omit<ReadTable, 'metadata_location'>): string {
  const { uri, project_id } = table;
  return [
    'INSTALL iceberg; LOAD iceberg;',
    "CREATE SECRET sluice (TYPE iceberg, TOKEN 'API_KEY');",
    `ATTACH '${project_id}' AS lake (TYPE iceberg, ENDPOINT ${quoted(uri, "'")}, SECRET sluice);`,
    `SELECT * FROM lake.${named(table, '"')} LIMIT 10;`,
  ].join('\n');
}

function loaded(table: ReadTable): string {
  return [
    'from pyiceberg.catalog import load_catalog',
    '',
    `catalog = load_catalog("lake", type="rest", uri=${JSON.stringify(table.uri)},`,
    `                       warehouse="${table.project_id}", token="API_KEY")`,
    `table = catalog.load_table(${JSON.stringify(`${table.namespace}.${table.name}`)})`,
  ].join('\n');
}

/** Returns the table with its namespace, quoted for SQL if needed. */
function named({ namespace, name }: Pick<ReadTable, 'namespace' | 'name'>, quote: string): string {
  return [...namespace.split('.'), name]
    .map((one) => (/^[a-z_][a-z0-9_]*$/.test(one) ? one : quoted(one, quote)))
    .join('.');
}

function quoted(text: string, quote: string): string {
  return `${quote}${text.replaceAll(quote, quote + quote)}${quote}`;
}
