import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { Connection as Client, QueryResult, ResultSetHeader, RowDataPacket } from 'mysql2';
import { stopOf, throwIfStopped, unlessStopped } from '../../model/destination/stop.ts';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import {
  hearFirst,
  isMySqlGreeting,
  otherServerError,
  otherServerIn,
  unheardError,
} from '../sql_tables/first_words.ts';
import { sshAccessOf } from '../sql_tables/ssh/ssh_config.ts';
import { openWay } from '../sql_tables/open_way.ts';
import type { Way } from '../sql_tables/way.ts';
import { targetOf } from './config.ts';
import type { MySqlConfig } from './config.ts';

/**
 * One session on the user's server. Every call rejects at once if the connection is lost or its
 * signal aborts.
 */
export type Connection = {
  /** The config of the connection, and its table. */
  config: MySqlConfig;
  target: ReturnType<typeof targetOf>;
  rows<Row>(statement: string, values?: unknown[]): Promise<Row[]>;
  /** Runs a statement without rows, and returns the number of affected rows. */
  run(statement: string, values?: unknown[]): Promise<number>;
  /**
   * Runs `LOAD DATA LOCAL` with these bytes, whatever file the server requests. Returns the number
   * of rows loaded unchanged: none if it warned.
   */
  load(statement: string, bytes: Buffer): Promise<number>;
  /** True if the server accepts `LOAD DATA LOCAL` within a transaction. */
  can_load: boolean;
  /** Streams the rows of a query, in bounded memory. */
  stream<Row>(statement: string): AsyncIterable<Row>;
  /** Returns a value as a literal. */
  escape(value: string): string;
  /** Most bytes of one statement. */
  statement_bytes_max: number;
  /** Ends the session; uncommitted changes are rolled back. */
  close(): Promise<void>;
};

const connect_timeout_milliseconds = 30_000;
/** Covers everything up to the answer to the first statements. */
const start_timeout_milliseconds = 60_000;
const close_timeout_milliseconds = 5_000;
/** Time for which an abandoned session may hold its locks if the server does not notice. */
const idle_seconds_max = 3_600;
const lock_seconds_max = 60;

/**
 * Backslashes escape in literals, wrong values are errors, instants are UTC, and a lock wait lasts
 * a minute.
 */
const session_statement = `SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',
  time_zone = '+00:00', autocommit = 1, lock_wait_timeout = ${lock_seconds_max},
  innodb_lock_wait_timeout = ${lock_seconds_max}, wait_timeout = ${idle_seconds_max},
    net_read_timeout = ${idle_seconds_max}, net_write_timeout = ${idle_seconds_max}`;

type Variable = { Variable_name: string; Value: string };
const variables_statement = `SHOW VARIABLES WHERE Variable_name IN
  ('max_allowed_packet', 'local_infile', 'wsrep_on', 'version')`;

/**
 * A Galera cluster may commit in the middle of a load, and a server that only imitates MySQL may do
 * anything.
 */
function canLoad(variables: Map<string, string>): boolean {
  return (
    variables.get('local_infile') === 'ON' &&
    (variables.get('wsrep_on') ?? 'OFF') === 'OFF' &&
    !/tidb|vitess|planetscale/i.test(variables.get('version') ?? '')
  );
}

type Opening = Pick<DestinationDeps, 'signal' | 'noteProgress'> & { starting: AbortSignal };

/**
 * Connects through the outbound guard. Guarantees: TLS with a checked certificate unless the config
 * says otherwise. The connection uses exactly the checked address. The server gets no file of ours,
 * whatever it requests. The session opens within 60 seconds or not at all. Aborting the signal ends
 * it at once.
 */
export async function connect(
  config: MySqlConfig,
  deps: Pick<DestinationDeps, 'outbound' | 'signal' | 'noteProgress'>,
): Promise<Connection> {
  const { outbound, signal } = deps;
  throwIfStopped(signal);
  const starting = AbortSignal.any([signal, AbortSignal.timeout(start_timeout_milliseconds)]);
  const way = await openWay(config.host, sshAccessOf(config), outbound, starting);
  const opening = { ...deps, starting };
  const isPlainAllowed = (error: unknown) =>
    config.require_tls === false &&
    (error as { code?: string }).code === 'HANDSHAKE_NO_SSL_SUPPORT';
  return open(config, way, true, opening)
    .catch((error: unknown) => {
      if (!isPlainAllowed(error)) throw error;
      return open(config, way, false, opening);
    })
    .catch((error: unknown) => {
      way.close();
      throw error;
    });
}

async function open(
  config: MySqlConfig,
  way: Way,
  isEncrypted: boolean,
  { signal, starting, noteProgress }: Opening,
): Promise<Connection> {
  const mysql = await import('mysql2');
  const socket = way.newSocket();
  // The name for the certificate check if the host is an address: without it, Node would check for
  // `localhost`.
  Object.assign(socket, { _host: config.host });
  socket.setNoDelay(true).setKeepAlive(true, 10_000);
  const words = hearFirst(socket);
  const port = config.port ?? 3306;
  socket.connect(port, way.host);
  const isVerified = config.has_self_signed_cert !== true;
  const client = mysql.createConnection({
    host: config.host,
    user: config.user,
    password: config.password,
    database: config.database,
    stream: socket,
    charset: 'utf8mb4',
    supportBigNumbers: true,
    connectTimeout: connect_timeout_milliseconds,
    ...(isEncrypted ? { ssl: { rejectUnauthorized: isVerified, verifyIdentity: isVerified } } : {}),
  });
  const other = otherServerIn(socket, way, port);
  const lost = Promise.race([
    misfitOf(socket),
    other,
    lossOf(client, socket),
    stopOf(signal, socket, () => socket.destroy()),
  ]);
  lost.catch(() => undefined);
  try {
    await unlessStopped(Promise.race([lost, query(client, session_statement)]), starting);
    const found = await unlessStopped(
      Promise.race([lost, query<Variable>(client, variables_statement)]),
      starting,
    );
    const variables = new Map(found.map((one) => [one.Variable_name.toLowerCase(), one.Value]));
    const known = {
      config,
      target: targetOf(config),
      statement_bytes_max: Number(variables.get('max_allowed_packet') ?? 0),
      can_load: canLoad(variables),
      escape: (value: string) => mysql.escape(value),
    };
    return connectionOf(client, { socket, way }, answering(lost, noteProgress), known);
  } catch (error) {
    socket.destroy();
    throw isMySqlGreeting(words.heard)
      ? unheardError(error, words)
      : otherServerError(words.heard, error);
  }
}

function answerOf(client: Client, statement: string, values: unknown[] = []): Promise<QueryResult> {
  return new Promise((resolve, reject) => {
    client.query<QueryResult>(statement, values, (error, result) => {
      if (error !== null) reject(error);
      else resolve(result);
    });
  });
}

/** Larger packets may exceed the server's limit. */
const packet_bytes = 64 * 1024;

function loaded(client: Client, sql: string, bytes: Buffer): Promise<ResultSetHeader> {
  const packets = function* () {
    for (let at = 0; at < bytes.length; at += packet_bytes)
      yield bytes.subarray(at, at + packet_bytes);
  };
  return new Promise((resolve, reject) => {
    client.query<ResultSetHeader>(
      { sql, infileStreamFactory: () => Readable.from(packets(), { objectMode: false }) },
      (error, result) => {
        if (error !== null) reject(error);
        else resolve(result);
      },
    );
  });
}

async function query<Row>(client: Client, statement: string, values?: unknown[]): Promise<Row[]> {
  const answer = await answerOf(client, statement, values);
  return (Array.isArray(answer) ? answer : []) as RowDataPacket[] as Row[];
}

/**
 * Rejects if the first bytes are no packet of MySQL's, whose end the client would wait for. Call it
 * after every other reader of the socket has started.
 */
function misfitOf(socket: Socket): Promise<never> {
  return new Promise<never>((_resolve, reject) => {
    socket.once('data', (heard: Buffer) => {
      if (!isMySqlGreeting(heard)) reject(otherServerError(heard));
    });
  });
}

/** Rejects when the connection is lost. */
function lossOf(client: Client, socket: Socket): Promise<never> {
  return new Promise<never>((_resolve, reject) => {
    client.on('error', reject);
    socket.once('error', reject);
    socket.once('close', () =>
      reject(
        Object.assign(new Error('The connection was closed.'), {
          code: 'PROTOCOL_CONNECTION_LOST',
        }),
      ),
    );
  });
}

/** The ends of a call apart from its answer, and the part of an answer outside its rows. */
type Answering = {
  lost: Promise<never>;
  during<Result>(statement: () => Promise<Result>): Promise<Result>;
};

function answering(lost: Promise<never>, noteProgress: DestinationDeps['noteProgress']): Answering {
  return {
    lost,
    // The loss first: on a lost connection, the client refuses a call with an error that says less.
    during: async (statement) => {
      const answer = await Promise.race([lost, statement()]);
      noteProgress?.();
      return answer;
    },
  };
}

function connectionOf(
  client: Client,
  { socket, way }: { socket: Socket; way: Way },
  { lost, during }: Answering,
  known: Pick<Connection, 'config' | 'target' | 'statement_bytes_max' | 'can_load' | 'escape'>,
): Connection {
  return {
    ...known,
    rows: <Row>(statement: string, values?: unknown[]) =>
      during(() => query<Row>(client, statement, values)),
    run: async (statement, values) => {
      const answer = await during(() => answerOf(client, statement, values));
      return 'affectedRows' in answer ? answer.affectedRows : 0;
    },
    load: async (statement, bytes) => {
      const answer = await during(() => loaded(client, statement, bytes));
      return answer.warningStatus === 0 ? answer.affectedRows : 0;
    },
    stream: <Row>(statement: string) => {
      const found: Readable = client.query(statement).stream({ highWaterMark: 100 });
      lost.catch((error: Error) => found.destroy(error));
      return found as AsyncIterable<Row>;
    },
    close: async () => {
      const timer = setTimeout(() => socket.destroy(), close_timeout_milliseconds);
      await Promise.race([new Promise<void>((resolve) => client.end(() => resolve())), lost]).catch(
        () => undefined,
      );
      clearTimeout(timer);
      socket.destroy();
      way.close();
    },
  };
}
