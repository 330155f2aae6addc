import { suggest } from '../platform/suggest.ts';
import { client_settings } from './client.ts';
import { processEnvironment } from './environment.ts';
import { fileVariable, valueOf } from './from_files.ts';
import { instance_settings } from './instance.ts';
import { limit_settings } from './limits.ts';
import { outbound_settings } from './outbound.ts';
import { plugin_settings } from './plugins.ts';
import { ownUrl } from './public_url.ts';
import { secret_settings } from './secrets.ts';
import { sign_in_settings } from './sign_in.ts';
import { tracing_settings } from './tracing.ts';
import {
  awsPrincipal,
  WrongValue,
  addresses,
  apiKey,
  choice,
  clusterName,
  email,
  flag,
  folder,
  hosts,
  longEnough,
  mailbox,
  postgresUrl,
  ranges,
  relay,
  secrets,
  setting,
  text,
  url,
  urls,
  whole,
} from './values.ts';
import type { Read, ValuesOf } from './values.ts';

/** One wrong setting: its variable, and a sentence that says which values are allowed. */
export type ConfigProblem = { variable: string; detail: string };

/** Thrown when settings are wrong; names each wrong setting. */
export class ConfigError extends Error {
  readonly problems: ConfigProblem[];
  constructor(problems: ConfigProblem[]) {
    super(problems.map((problem) => `${problem.variable}: ${problem.detail}`).join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/**
 * All settings by their name in the code: variable, default, check and documentation.
 * `npm run docs:configuration` writes `docs/configuration.md` from them.
 */
export const settings = {
  host: setting('SLUICE_HOST', '127.0.0.1', text, 'Address that the HTTP server listens on.'),
  port: setting(
    'SLUICE_PORT',
    '8000',
    whole(0, 65_535),
    'Port that the HTTP server listens on; 0 takes a free one.',
  ),
  worker_port: setting(
    'SLUICE_WORKER_PORT',
    '',
    whole(0, 65_535),
    'Port on which a process that is a worker alone answers `/healthz`, `/readyz` and ' +
      '`/metrics`. Default: it does not listen.',
  ),
  public_url: setting(
    'SLUICE_PUBLIC_URL',
    '',
    url('http:', 'https:'),
    'Address under which users reach the server; links and page URLs begin with it. It may ' +
      'have a path. Default: `http://` host `:` port, the one that it got where that is 0.',
  ),
  data_dir: setting(
    'SLUICE_DATA_DIR',
    './data',
    folder,
    'Folder of the embedded stores, the secret key, the lock and the compiled modules of this ' +
      'server.',
  ),
  database_url: setting(
    'SLUICE_DATABASE_URL',
    '',
    postgresUrl,
    'PostgreSQL 15 or newer for control data; a primary and its standbys with commas between ' +
      'them, as `postgres://user:password@a:5432,b:5432/sluice`, the password encoded as in a ' +
      'URL (`%` is `%25`). Default: an embedded PostgreSQL in the data folder.',
  ),
  clickhouse_url: setting(
    'SLUICE_CLICKHOUSE_URL',
    '',
    urls('http:', 'https:'),
    'ClickHouse over HTTP for events and persons, as ' +
      '`http://user:password@host:8123/database`, the password encoded as in a URL; of a ' +
      'cluster every replica, with commas between them (docs/clickhouse_cluster.md). Default: an ' +
      'embedded ClickHouse in the data folder.',
  ),
  clickhouse_cluster: setting(
    'SLUICE_CLICKHOUSE_CLUSTER',
    '',
    clusterName,
    'Name in `system.clusters` of the ClickHouse cluster on whose replicas tables are ' +
      'created. Default: one node, or the topology that a `Replicated` database or ClickHouse ' +
      'Cloud reports.',
  ),
  ...secret_settings,
  owner_email: setting(
    'SLUICE_OWNER_EMAIL',
    'owner@example.com',
    email,
    'E-mail address of the owner created at the first start.',
  ),
  owner_password: setting(
    'SLUICE_OWNER_PASSWORD',
    '',
    longEnough(12),
    'Password of the owner created at the first start; at least 12 characters. Default: ' +
      'generated and printed once.',
  ),
  owner_api_key: setting(
    'SLUICE_OWNER_API_KEY',
    '',
    apiKey,
    'Personal API key given to the owner at the first start. Default: generated and printed once.',
  ),
  export_dir: setting(
    'SLUICE_EXPORT_DIR',
    './exports',
    folder,
    'Folder that the `File` destination may write under. If the server cannot write there, ' +
      'it logs a warning at the start.',
  ),
  trusted_proxies: setting(
    'SLUICE_TRUSTED_PROXIES',
    '',
    ranges,
    'Addresses and CIDR ranges of the proxies in front of the server, separated by commas: ' +
      'Sluice trusts their X-Forwarded-For. Default: none. Set it behind a proxy: otherwise all ' +
      'users share one address for limits and the log.',
  ),
  ...outbound_settings,
  s3_environment_credentials: setting(
    'SLUICE_S3_ENVIRONMENT_CREDENTIALS',
    'false',
    flag,
    'Whether S3 destinations without an access key may use the credentials of this server: ' +
      'its environment, files or role. Everybody who may create an export can then write ' +
      'wherever these credentials allow.',
  ),
  aws_principal: setting(
    'SLUICE_AWS_PRINCIPAL',
    '',
    awsPrincipal,
    'ARN of the AWS identity of this server for trust policies, such as ' +
      '`arn:aws:iam::123456789012:role/sluice`. With it, exports may use a role without an ' +
      'access key. The server assumes the role with its own credentials and the external id of ' +
      'the organization. Default: none.',
  ),
  sts_endpoint_url: setting(
    'SLUICE_STS_ENDPOINT_URL',
    '',
    url('http:', 'https:'),
    'Address of the AWS Security Token Service that assumes roles, such as a VPC endpoint. ' +
      'Default: the service of AWS in the region of the bucket.',
  ),
  ...instance_settings,
  ...limit_settings,
  log_level: setting(
    'SLUICE_LOG_LEVEL',
    'info',
    choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    'Lowest level that is logged to standard error.',
  ),
  log_format: setting(
    'SLUICE_LOG_FORMAT',
    '',
    choice('json', 'text'),
    'Form of a line of the log: `json` for programs, `text` for people. Default: `text` at a ' +
      'terminal, otherwise `json`.',
  ),
  smtp_url: setting(
    'SLUICE_SMTP_URL',
    '',
    relay,
    'Mail relay, as `smtps://user:password@host:465`. Default: no mail is sent; links are in ' +
      'the answers.',
  ),
  mail_from: setting('SLUICE_MAIL_FROM', 'Sluice <sluice@localhost>', mailbox, 'Sender of mails.'),
  dns_servers: setting(
    'SLUICE_DNS_SERVERS',
    '',
    addresses,
    'DNS servers for domain proofs, separated by commas. Default: the servers of the machine.',
  ),
  ...plugin_settings,
  ...sign_in_settings,
  ...tracing_settings,
  ...client_settings,
};

/** The checked values of all settings. `public_url` is always set, and has no slash at its end. */
export type Config = ValuesOf<typeof settings> & { public_url: string };

/** Settings that are set together or not at all. */
const groups: (keyof typeof settings)[][] = [
  ['google_client_id', 'google_client_secret'],
  ['github_client_id', 'github_client_secret'],
  ['gitlab_client_id', 'gitlab_client_secret'],
  ['openid_issuer', 'openid_client_id', 'openid_client_secret'],
];

/**
 * Reads the settings from the environment and from the files that it names (`valueOf`). Checks
 * every value, and refuses an unknown `SLUICE_` variable as a misspelling. Throws all problems
 * together as one `ConfigError` that names each variable.
 */
export function readConfig(environment: Record<string, string | undefined>): Config {
  const problems: ConfigProblem[] = [];
  const own = Object.values(settings).map((entry) => entry.variable);
  const known = new Set([...own, ...own.map(fileVariable)]);
  for (const variable of Object.keys(environment)) {
    if (!variable.startsWith('SLUICE_') || known.has(variable)) continue;
    const meant = suggest(variable, known);
    const advice = meant === undefined ? 'docs/configuration.md lists all.' : `Is it ${meant}?`;
    problems.push({ variable, detail: `is not a setting. ${advice}` });
  }
  const values: Record<string, unknown> = {};
  for (const [name, entry] of Object.entries(settings)) {
    const given = valueOf(environment, entry.variable);
    if (given.fault !== undefined) {
      problems.push(given.fault);
      continue;
    }
    const usual = entry.else_variables.find((one) => (environment[one]?.trim() ?? '') !== '');
    const source =
      given.value ?? (usual === undefined ? entry.default_text : environment[usual]!.trim());
    try {
      values[name] = source === '' && !isList(entry.read) ? undefined : entry.read(source);
    } catch (error) {
      if (!(error instanceof WrongValue)) throw error;
      const variable = given.value === undefined ? (usual ?? given.from) : given.from;
      // A file may be named by mistake, so its content is not repeated.
      const isFile = variable === fileVariable(entry.variable);
      const detail = isFile ? error.message.replaceAll(source, '...') : error.message;
      problems.push({ variable, detail });
    }
  }
  problems.push(...groups.flatMap((group) => missingOf(group, values)));
  const { previous_secret_keys: previous, secret_key } = values as Partial<Config>;
  if (previous !== undefined && previous.length > 0 && secret_key === undefined)
    problems.push({
      variable: settings.secret_key.variable,
      detail: `must be set when ${settings.previous_secret_keys.variable} is.`,
    });
  if (problems.length > 0) throw new ConfigError(problems);
  values['public_url'] ??= ownUrl(String(values['host']), Number(values['port']));
  return values as Config;
}

/** The settings of this process's environment. */
export function environmentConfig(): Config {
  return readConfig(processEnvironment());
}

function missingOf(
  group: (keyof typeof settings)[],
  values: Record<string, unknown>,
): ConfigProblem[] {
  const given = group.find((name) => values[name] !== undefined);
  if (given === undefined) return [];
  return group
    .filter((name) => values[name] === undefined)
    .map((name) => ({
      variable: settings[name].variable,
      detail: `must be set when ${settings[given].variable} is.`,
    }));
}

function isList(read: Read<unknown>): boolean {
  return [ranges, addresses, secrets, hosts].includes(read as Read<string[]>);
}
