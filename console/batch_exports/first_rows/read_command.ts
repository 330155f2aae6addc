import { duckdbText } from '../../lake_tables/read_ways.ts';

/** The place of delivered rows: the type and config of the destination, and their name. */
export type Delivered = {
  type: string;
  config: Record<string, unknown>;
  /** The name of the file, object or table in the receipt. */
  name: string;
  /** The export folder of the server, for its files. */
  folder: string | undefined;
  /** The Iceberg catalog of the project. */
  catalog: { uri: string; project_id: string };
};

/** Returns the place of rows for people. */
export function placeOf({ type, config, name, folder }: Delivered): string {
  if (type === 'Iceberg') return `${namespaceOf(config)}.${text(config, 'table')}`;
  // The files of a table are in one of the file destinations.
  const storage = text(config, 'storage') || type;
  if (storage === 'File' && folder !== undefined) return `${folder}/${name}`;
  const scheme = { S3: 's3', GCS: 'gs' }[storage];
  return scheme === undefined ? name : `${scheme}://${text(config, 'bucket_name')}/${name}`;
}

/**
 * Returns a terminal command that shows the first ten rows, or DuckDB statements for a lake table;
 * undefined if there is none. It quotes all names.
 */
export function readCommand(delivered: Delivered): string | undefined {
  return commands[delivered.type]?.(delivered);
}

/** Returns the namespace of an Iceberg table; without the key, the server's default. */
function namespaceOf(config: Record<string, unknown>): string {
  return text(config, 'namespace') || 'sluice';
}

const commands: Partial<Record<string, (delivered: Delivered) => string | undefined>> = {
  File: (delivered) => readFile(placeOf(delivered)),
  S3: (delivered) =>
    fetched(delivered, (to) => [
      'aws',
      's3',
      'cp',
      placeOf(delivered),
      to,
      ...option('--endpoint-url', delivered.config, 'endpoint_url'),
    ]),
  GCS: (delivered) =>
    fetched(delivered, (to) => ['gcloud', 'storage', 'cp', placeOf(delivered), to]),
  AzureBlob: (delivered) =>
    fetched(delivered, (to) => [
      'az',
      'storage',
      'blob',
      'download',
      ...option('--account-name', delivered.config, 'account_name'),
      ...option('--container-name', delivered.config, 'container_name'),
      '--name',
      delivered.name,
      '--file',
      to,
    ]),
  Iceberg: ({ config, catalog }) =>
    // Another catalog has its own address and keys.
    ['', 'sluice'].includes(text(config, 'catalog'))
      ? duckdbText({ ...catalog, namespace: namespaceOf(config), name: text(config, 'table') })
      : undefined,
  Delta: (delivered) => {
    if (text(delivered.config, 'storage') !== 'File') return undefined;
    const file = placeOf(delivered);
    const table = file.slice(0, file.lastIndexOf('/')).replaceAll("'", "''");
    return inShell(['duckdb', '-c', `SELECT * FROM delta_scan('${table}') LIMIT 10`]);
  },
  Postgres: postgres,
  Redshift: ({ config, ...more }) => postgres({ ...more, config: { port: 5439, ...config } }),
  MySQL: ({ config, name }) =>
    inShell([
      'mysql',
      ...option('-h', config, 'host'),
      ...option('-P', config, 'port'),
      ...option('-u', config, 'user'),
      '-p',
      '-e',
      `SELECT * FROM ${quoted(name, '`')} LIMIT 10`,
    ]),
  ClickHouse: ({ config, name }) =>
    inShell([
      'clickhouse client',
      ...option('--host', { host: URL.parse(text(config, 'url'))?.hostname }, 'host'),
      ...option('--user', config, 'user'),
      '--query',
      `SELECT * FROM ${quoted(name, '`')} LIMIT 10 FORMAT Vertical`,
    ]),
  BigQuery: ({ config, name }) =>
    inShell([
      'bq',
      'query',
      '--use_legacy_sql=false',
      `SELECT * FROM \`${[text(config, 'project_id'), name].join('.')}\` LIMIT 10`,
    ]),
  Snowflake: ({ config, name }) =>
    inShell([
      'snowsql',
      ...option('-a', config, 'account'),
      ...option('-u', config, 'user'),
      '-q',
      `SELECT * FROM ${quoted(name, '"')} LIMIT 10`,
    ]),
};

function postgres({ config, name }: Delivered): string {
  return inShell([
    'psql',
    ...option('-h', config, 'host'),
    ...option('-p', config, 'port'),
    ...option('-U', config, 'user'),
    ...option('-d', config, 'database'),
    '-c',
    `SELECT * FROM ${quoted(name, '"')} LIMIT 10`,
  ]);
}

/** Returns commands that download an object into the current folder and read it there. */
function fetched({ name }: Delivered, fetchTo: (to: string) => string[]): string {
  const to = name.slice(name.lastIndexOf('/') + 1);
  return `${inShell(fetchTo(to))} && ${readFile(to)}`;
}

const unpackers: Partial<Record<string, string>> = {
  gz: 'gzip -dc',
  zst: 'zstd -dc',
  br: 'brotli -dc',
  lz4: 'lz4 -dc',
};

function readFile(path: string): string {
  const ending = path.slice(path.lastIndexOf('.') + 1);
  // A compressed Parquet file may have its codec at the end of its name: `rows.parquet.zst`.
  if (/\.parquet(?:\.\w+)?$/.test(path)) {
    const source = `read_parquet('${path.replaceAll("'", "''")}')`;
    return inShell(['duckdb', '-c', `SELECT * FROM ${source} LIMIT 10`]);
  }
  const unpacker = unpackers[ending];
  return unpacker === undefined ? inShell(['head', path]) : `${unpacker} ${inShell([path])} | head`;
}

function option(name: string, config: Record<string, unknown>, key: string): string[] {
  const value = text(config, key);
  return value === '' ? [] : [name, value];
}

function text(config: Record<string, unknown>, key: string): string {
  const value = config[key];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** Returns a name with its schema, quoted for the dialect if needed. */
function quoted(name: string, quote: string): string {
  const part = (one: string) =>
    /^[a-z_][a-z0-9_]*$/.test(one)
      ? one
      : `${quote}${one.replaceAll(quote, quote + quote)}${quote}`;
  return name.split('.').map(part).join('.');
}

/** Returns words quoted for a shell. */
function inShell(words: string[]): string {
  return words
    .map((word) => {
      if (/^[\w@%+=:,./-]+$/.test(word) || word === 'clickhouse client') return word;
      return /["$`\\!]/.test(word) ? `'${word.replaceAll("'", "'\\''")}'` : `"${word}"`;
    })
    .join(' ');
}
