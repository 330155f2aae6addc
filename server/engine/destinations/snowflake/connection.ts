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
 * One session of the user's account. Every call rejects at once when the client is lost or the
 * signal that it was opened with is aborted.
 */
export type Connection = {
  /** The config of the connection, and the table that it names. */
  config: SnowflakeConfig;
  target: ReturnType<typeof targetOf>;
  /** All rows of a statement with a small answer. Values stand for the `?` of the statement. */
  rows<Row>(statement: string, values?: string[]): Promise<Row[]>;
  /**
   * Brings a file, which is gzip, to a folder of an internal stage; folder and name are plain
   * words. `bytes` are handed over and are of no use afterwards. Rejects when the storage does not
   * take it; a token of the storage that ends meanwhile is not noticed here, so what is loaded has
   * to be counted.
   */
  put(stage: string, folder: string, name: string, bytes: Uint8Array): Promise<void>;
  /**
   * Ends the session, and with it its temporary tables and stages; what is not committed is rolled
   * back. Never rejects.
   */
  close(): Promise<void>;
};

/**
 * For everything up to the last statement that the session begins with; a warehouse that sleeps
 * wakes up in this time.
 */
const start_timeout_milliseconds = 60_000;
const lock_seconds_max = 60;

/**
 * Quoted names keep their letter case whatever the account's setting, instants are UTC, locks are
 * awaited for a minute, and the server ends the work of an abandoned session. The account and the
 * warehouse bound the time of a statement.
 */
const session_statement = `ALTER SESSION SET QUOTED_IDENTIFIERS_IGNORE_CASE = FALSE TIMEZONE = 'UTC'
  AUTOCOMMIT = TRUE LOCK_TIMEOUT = ${lock_seconds_max} ABORT_DETACHED_QUERY = TRUE`;

/**
 * Opens a session through the outbound guard. Guarantees: TLS with a checked certificate; role,
 * warehouse, database and schema are those of the config, or the call rejects with what is missing;
 * the session is open within 60 seconds or not at all; an aborted signal ends it at once.
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

/** The client's errors do not say what was wrong with the way to the account: these do. */
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
    // An account may ask for bigint, with which our counts could not be compared.
    jsTreatIntegerAsBigInt: false,
    // Without it the client uploads to Google's storage under a wrong name.
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

/** An account that there is not has a host all the same, which answers with a page. */
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
    'What answers at this host is not a Snowflake account; check the keys account and host.',
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
 * A fault of the account has a number; any other fault of a file is the storage's, and the client
 * gives only its text.
 */
function uploadFault(error: unknown): unknown {
  if (!(error instanceof SnowflakeFault) || error.fault.code !== '') return error;
  return new SnowflakeFault({ ...error.fault, code: 'upload_failed' });
}
