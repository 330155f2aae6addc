/** The values of a connection string, by the keys of its destination. */
export type ConnectionString = {
  type: string;
  typed: Record<string, string | boolean>;
  /** The names of its parameters without a field. */
  unused: string[];
};

/** Why a text fills no field, as a sentence. */
type Refusal = { refusal: string };

type Reading = { url: URL; given: string; chosen: string };
type Typed = ConnectionString['typed'];

/**
 * Reads a connection string. If several destinations use its form, `chosen` decides. The result has
 * no empty values.
 */
export function readConnectionString(text: string, chosen: string): ConnectionString | Refusal {
  const given = text.trim().replace(/^jdbc:/i, '');
  if (given.startsWith('{')) return keyFile(given, chosen);
  if (/(^|;)(AccountName|BlobEndpoint)=/i.test(given))
    return found('AzureBlob', { connection_string: given });
  const url = urlOf(given);
  if (url === undefined) return { refusal: unreadable(given) };
  const reader = readers[url.protocol.slice(0, -1)];
  if (reader === undefined)
    return { refusal: `Sluice does not support addresses that start with “${url.protocol}”.` };
  if (url.hash !== '') return { refusal: 'Write each “#” in it as %23, then paste it again.' };
  try {
    return reader({ url, given, chosen });
  } catch (error) {
    // An invalid % encoding.
    if (!(error instanceof URIError)) throw error;
    return { refusal: 'Write each “%” in it as %25, then paste it again.' };
  }
}

const readers: Record<string, (reading: Reading) => ConnectionString | Refusal> = {
  postgres: postgres,
  postgresql: postgres,
  redshift: postgres,
  mysql: ({ url }) => database('MySQL', url, ['ssl-mode', 'sslMode']),
  mariadb: ({ url }) => database('MySQL', url, ['ssl-mode', 'sslMode']),
  snowflake,
  s3: ({ url }) => bucket('S3', url, { region: 'region', endpoint: 'endpoint_url' }),
  gs: ({ url }) => bucket('GCS', url, {}),
  clickhouse,
  https: web,
  http: web,
};

const port_max = 65_535;

/** Hosts of services whose addresses have no scheme. */
const bare_hosts = /^[\w.-]+\.(snowflakecomputing\.com|redshift(-serverless)?\.amazonaws\.com)\b/i;

function urlOf(given: string): URL | undefined {
  const scheme = given.includes('snowflakecomputing') ? 'https' : 'redshift';
  return URL.parse(bare_hosts.test(given) ? `${scheme}://${given}` : given) ?? undefined;
}

const many_servers = 'It names several servers. Keep only the one that accepts writes.';

function unreadable(given: string): string {
  if (/^\w+:\/\/[^@]*[/?#][^@]*@/.test(given))
    return 'Write “/”, “?” and “#” in the password as %2F, %3F and %23, then paste it again.';
  const [, places] = /^\w+:\/\/(?:[^@]*@)?([^/?#]*)/.exec(given) ?? [];
  if (places === undefined)
    return 'This is not a connection string. One starts with its kind, such as s3://.';
  if (places.includes(',')) return many_servers;
  const [, port = ''] = /:([^:\]]*)$/.exec(places) ?? [];
  return /^\d*$/.test(port) && Number(port) <= port_max
    ? 'Sluice cannot read the host in it. Correct it, then paste it again.'
    : `The port in it is not a number from 1 to ${port_max}. Correct it, then paste it again.`;
}

function found(type: string, values: Typed, unused: string[] = []): ConnectionString {
  const typed = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
  return { type, typed, unused };
}

function keyFile(given: string, chosen: string): ConnectionString | Refusal {
  let file: Record<string, string | undefined>;
  try {
    file = JSON.parse(given) as typeof file;
  } catch {
    return {
      refusal: 'This JSON is incomplete. Paste the whole key file.',
    };
  }
  if (file['type'] !== 'service_account')
    return { refusal: 'This JSON is not a key file of a Google Cloud service account.' };
  if (chosen === 'GCS') return found('GCS', { service_account_json: given });
  const keys = ['project_id', 'client_email', 'private_key', 'private_key_id', 'token_uri'];
  return found('BigQuery', Object.fromEntries(keys.map((key) => [key, file[key] ?? ''])));
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

const parts = ({ pathname }: URL) => pathname.split('/').slice(1).map(decodeURIComponent);

/** Returns the unused parameters. */
function othersOf({ searchParams }: URL, used: readonly string[]): string[] {
  return [...searchParams.keys()].filter((name) => !used.includes(name));
}

/** Reads the server, database and user of an address, whose parameters may contain the user. */
function database(
  type: string,
  url: URL,
  tls_names: string[],
  schema_names: string[] = [],
): ConnectionString | Refusal {
  const host = hostOf(url);
  if (host.includes(',')) return { refusal: many_servers };
  const { searchParams: given } = url;
  const first = (names: string[]) => names.map((name) => given.get(name)).find(Boolean) ?? '';
  const typed = {
    host,
    port: url.port,
    database: parts(url)[0] ?? '',
    user: decodeURIComponent(url.username) || first(['user']),
    password: decodeURIComponent(url.password) || first(['password']),
    schema: first(schema_names),
    ...tlsOf(first(tls_names).toLowerCase()),
  };
  return found(type, typed, othersOf(url, ['user', 'password', ...tls_names, ...schema_names]));
}

/**
 * Returns the values for a client's TLS mode; a client that does not require TLS connects without
 * it.
 */
function tlsOf(mode: string): Typed {
  if (mode === '') return {};
  if (mode === 'no-verify') return { require_tls: true, has_self_signed_cert: true };
  return { require_tls: !['disable', 'disabled', 'allow', 'prefer', 'preferred'].includes(mode) };
}

function postgres({ url, chosen }: Reading): ConnectionString | Refusal {
  const is_redshift =
    url.protocol === 'redshift:' || chosen === 'Redshift' || /\bredshift\b/.test(url.hostname);
  const schema_names = ['schema', 'currentSchema', 'search_path'];
  return database(is_redshift ? 'Redshift' : 'Postgres', url, ['sslmode'], schema_names);
}

function snowflake({ url }: Reading): ConnectionString {
  const { searchParams: given } = url;
  const [database = '', schema = ''] = parts(url);
  const typed = {
    account: hostOf(url).replace(/\.snowflakecomputing\.com$/i, ''),
    user: decodeURIComponent(url.username) || (given.get('user') ?? ''),
    password: decodeURIComponent(url.password) || (given.get('password') ?? ''),
    database: database || (given.get('db') ?? ''),
    schema: schema || (given.get('schema') ?? ''),
    warehouse: given.get('warehouse') ?? '',
    role: given.get('role') ?? '',
  };
  const used = ['user', 'password', 'db', 'schema', 'warehouse', 'role'];
  return found('Snowflake', typed, othersOf(url, used));
}

function bucket(type: string, url: URL, names: Record<string, string>): ConnectionString {
  const typed = Object.entries(names).map(([name, key]) => [key, url.searchParams.get(name) ?? '']);
  return found(
    type,
    { bucket_name: url.hostname, prefix: parts(url).join('/'), ...Object.fromEntries(typed) },
    othersOf(url, Object.keys(names)),
  );
}

/** Ports of ClickHouse's native protocol, which exports do not use. */
const native_ports = ['9000', '9440'];
const tls_ports = ['443', '8443'];

function clickhouse({ url }: Reading): ConnectionString | Refusal {
  if (native_ports.includes(url.port))
    return {
      refusal: `Port ${url.port} is for ClickHouse's native protocol. Use 8123 or 8443 (HTTP).`,
    };
  const { searchParams: given } = url;
  const is_secure = ['secure', 'ssl', 'tls'].some((name) => given.get(name) === 'true');
  const scheme = url.protocol === 'clickhouse:' ? 'http:' : url.protocol;
  const typed = {
    url: `${is_secure || tls_ports.includes(url.port) ? 'https:' : scheme}//${url.host}`,
    database: parts(url)[0] || (given.get('database') ?? ''),
    user: decodeURIComponent(url.username) || (given.get('user') ?? ''),
    password: decodeURIComponent(url.password) || (given.get('password') ?? ''),
  };
  const used = ['secure', 'ssl', 'tls', 'database', 'user', 'password'];
  return found('ClickHouse', typed, othersOf(url, used));
}

/** A web address belongs to a store in its name, to ClickHouse, or to an endpoint. */
function web(reading: Reading): ConnectionString | Refusal {
  const { url, given, chosen } = reading;
  const { hostname } = url;
  if (hostname.endsWith('.snowflakecomputing.com')) return snowflake(reading);
  const [first = '', ...rest] = parts(url);
  const s3 = /^(?:(.+)\.)?s3[.-]([a-z0-9-]+)\.amazonaws\.com$/.exec(hostname);
  if (s3 !== null) {
    const [, name, region = ''] = s3;
    return name === undefined
      ? found('S3', { bucket_name: first, region, prefix: rest.join('/') })
      : found('S3', { bucket_name: name, region, prefix: [first, ...rest].join('/') });
  }
  if (hostname === 'storage.googleapis.com')
    return found('GCS', { bucket_name: first, prefix: rest.join('/') });
  const azure = /^([a-z0-9]+)\.blob\.core\.windows\.net$/.exec(hostname);
  if (azure !== null)
    return found('AzureBlob', {
      account_name: azure[1]!,
      container_name: first,
      prefix: rest.join('/'),
      sas_token: url.searchParams.has('sig') ? url.search.slice(1) : '',
    });
  const is_clickhouse = url.port === '8123' || /\bclickhouse\b/.test(hostname);
  if (chosen === 'ClickHouse' || (is_clickhouse && chosen !== 'HTTP')) return clickhouse(reading);
  return found('HTTP', { url: given });
}
