import { once } from 'node:events';
import { isIP } from 'node:net';
import tls from 'node:tls';
import { throwIfStopped, unlessStopped } from '../../model/destination/stop.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import { requirePackage } from '../../model/destination/optional_package.ts';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import { quoted } from '../sql_tables/layout.ts';
import { SnowflakeFault, openClient } from './client.ts';
import type { Client } from './client.ts';
import { textOf } from '../object_store/config_rules.ts';
import { addressOf, credentialsOf, targetOf } from './config.ts';
import type { SnowflakeConfig } from './config.ts';

/**
 * One session of the user's account. Every call rejects at once if the client is lost or its signal
 * aborts.
 */
export type Connection = {
  /** The config of the connection, and its table. */
  config: SnowflakeConfig;
  target: ReturnType<typeof targetOf>;
  /**
   * Returns all rows of a statement with a small answer. Values replace the `?` of the statement.
   */
  rows<Row>(statement: string, values?: string[]): Promise<Row[]>;
  /**
   * Uploads a gzip file to a folder of an internal stage; folder and name are plain words. `bytes`
   * are transferred and no longer usable afterwards. Rejects if the storage refuses it. An expired
   * storage token goes unnoticed here, so loaded rows must be counted.
   */
  put(stage: string, folder: string, name: string, bytes: Uint8Array): Promise<void>;
  /**
   * Ends the session, and with it its temporary tables and stages; uncommitted changes are rolled
   * back. Never rejects.
   */
  close(): Promise<void>;
};

/**
 * Covers everything up to the session's last initial statement; a suspended warehouse resumes in
 * this time.
 */
const start_timeout_milliseconds = 60_000;
const lock_seconds_max = 60;

/**
 * Quoted names keep their case whatever the account's setting, instants are UTC, lock waits last a
 * minute, and the server ends the work of an abandoned session. The account and the warehouse limit
 * the time of a statement.
 */
const session_statement = `ALTER SESSION SET QUOTED_IDENTIFIERS_IGNORE_CASE = FALSE TIMEZONE = 'UTC'
  AUTOCOMMIT = TRUE LOCK_TIMEOUT = ${lock_seconds_max} ABORT_DETACHED_QUERY = TRUE`;

/**
 * Opens a session through the outbound guard. Guarantees: TLS with a checked certificate. Role,
 * warehouse, database and schema are those of the config, or the call rejects with the missing one.
 * The session opens within 60 seconds or not at all. Aborting the signal ends it at once.
 */
export async function connect(
  config: SnowflakeConfig,
  deps: Pick<DestinationDeps, 'outbound' | 'signal' | 'noteProgress'>,
): Promise<Connection> {
  const { outbound, signal, noteProgress } = deps;
  throwIfStopped(signal);
  requirePackage('snowflake-sdk');
  const starting = AbortSignal.any([signal, AbortSignal.timeout(start_timeout_milliseconds)]);
  const { host, port } = addressOf(config);
  await unlessStopped(shakeHands(outbound, host, port), starting);
  const client = await openClient({ outbound, signal });
  try {
    await unlessStopped(begin(client, config), starting);
    return { config, target: targetOf(config), ...callsOf(client, noteProgress) };
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** The client's errors do not tell what was wrong with the connection to the account: these do. */
async function shakeHands(
  outbound: DestinationDeps['outbound'],
  host: string,
  port: number,
): Promise<void> {
  const socket = tls.connect({
    socket: await outbound.connect(host, port),
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
  });
  try {
    await once(socket, 'secureConnect');
  } finally {
    socket.destroy();
  }
}

function optionsOf(config: SnowflakeConfig): Record<string, unknown> {
  const { host, port } = addressOf(config);
  const credentials = credentialsOf(config);
  return {
    account: config.account,
    username: config.user,
    host,
    accessUrl: `https://${host}:${port}`,
    application: 'Sluice',
    clientSessionKeepAlive: true,
    // An account may request bigint, which could not be compared with our counts.
    jsTreatIntegerAsBigInt: false,
    // Without it, the client uploads to Google's storage under a wrong name.
    gcsUseDownscopedCredential: true,
    ...('password' in credentials
      ? { password: credentials.password }
      : { authenticator: 'SNOWFLAKE_JWT', privateKey: credentials.private_key.trimEnd() }),
  };
}

async function begin(client: Client, config: SnowflakeConfig): Promise<void> {
  try {
    await client.connect(optionsOf(config));
  } catch (error) {
    throw notSnowflake(error) ?? error;
  }
  const role = textOf(config.role);
  if (role !== undefined)
    await use(
      client,
      `ROLE ${quoted(role)}`,
      'permission_denied',
      `The user may not work as the role ${role}; grant it, or correct the key role`,
    );
  const grant = 'or the role may not use it';
  await use(
    client,
    `WAREHOUSE ${quoted(config.warehouse)}`,
    'warehouse_missing',
    `There is no warehouse ${config.warehouse}, ${grant}`,
  );
  await use(
    client,
    `DATABASE ${quoted(config.database)}`,
    'database_missing',
    `There is no database ${config.database}, ${grant}`,
  );
  await use(
    client,
    `SCHEMA ${quoted(config.schema)}`,
    'schema_missing',
    `There is no schema ${config.schema} in the database ${config.database}, ${grant}`,
  );
  await client.execute(session_statement);
}

/** Even a nonexistent account has a host, which answers with a page. */
function notSnowflake(error: unknown): NonRetryableError | undefined {
  if (
    !(error instanceof SnowflakeFault) ||
    error.fault.status === undefined ||
    error.fault.status >= 500 ||
    error.fault.status === 429
  )
    return undefined;
  return new NonRetryableError(
    'not_snowflake',
    'The server at this host is not a Snowflake account; check the keys account and host.',
    { cause: error },
  );
}

const refusals_of_use = ['002043', '002003', '003001', '003107', '002001'];

async function use(client: Client, what: string, code: string, message: string): Promise<void> {
  try {
    await client.execute(`USE ${what}`);
  } catch (error) {
    if (
      !(error instanceof SnowflakeFault) ||
      !refusals_of_use.includes(error.fault.code.padStart(6, '0'))
    )
      throw error;
    throw new NonRetryableError(
      code,
      `${message}. Letter case counts in names: names that were created without quotes are in ` +
        'upper case.',
      {
        cause: error,
      },
    );
  }
}

function callsOf(
  client: Client,
  noteProgress: DestinationDeps['noteProgress'],
): Omit<Connection, 'config' | 'target'> {
  const execute: Client['execute'] = async (...call) => {
    const rows = await client.execute(...call);
    noteProgress?.();
    return rows;
  };
  return {
    rows: async <Row>(statement: string, values?: string[]) =>
      (await execute(statement, values)) as Row[],
    put: async (stage, folder, name, bytes) => {
      const statement =
        `PUT file://${name} @${quoted(stage)}/${folder} AUTO_COMPRESS = FALSE ` +
        'SOURCE_COMPRESSION = GZIP OVERWRITE = TRUE';
      try {
        await execute(statement, undefined, bytes);
      } catch (error) {
        throw uploadFault(error);
      }
    },
    close: () => client.close(),
  };
}

/**
 * A fault of the account has a number; any other fault of a file comes from the storage, and the
 * client only returns its text.
 */
function uploadFault(error: unknown): unknown {
  if (!(error instanceof SnowflakeFault) || error.fault.code !== '') return error;
  return new SnowflakeFault({ ...error.fault, code: 'upload_failed' });
}
