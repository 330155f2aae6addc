import { isIP } from 'node:net';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { giveBack } from '../../../../platform/memory/buffer_pool.ts';
import { stopOf, throwIfStopped, unlessStopped } from '../../../model/destination/stop.ts';
import type { DestinationDeps } from '../../../model/destination/destination.ts';
import { hearFirst, otherServerError, unheardError } from '../first_words.ts';
import { rolledBackError } from '../rolled_back_error.ts';
import { cancelStatement } from './cancel.ts';
import type { CancelledSession } from './cancel.ts';
import type { SshAccess } from '../ssh/ssh_config.ts';
import { openWay } from '../open_way.ts';
import type { Way } from '../way.ts';

/** The access to a server with PostgreSQL's protocol. */
export type ServerAccess = {
  user: string;
  password: string;
  host: string;
  port: number;
  database: string;
  has_self_signed_cert?: boolean;
  require_tls?: boolean;
  /** Undefined: no tunnel. */
  ssh: SshAccess | undefined;
  /** Statements at the start of every session. */
  session: string;
};

/**
 * One session on the user's server. Every call rejects at once if the connection is lost or its
 * signal aborts; the server is then told to end the statement.
 */
export type Connection = {
  rows<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Runs one statement and returns the number of affected rows. */
  run(text: string): Promise<number>;
  /** Ends the open transaction. Rejects with SQLSTATE 40000 if a COMMIT rolled it back. */
  end(statement: 'COMMIT' | 'ROLLBACK'): Promise<void>;
  /**
   * Streams the bytes of `COPY ... FROM STDIN` and returns the number of rows that the server
   * accepted.
   */
  copy(statement: string, bytes: Readable): Promise<number>;
  /** The bytes of `COPY ... TO STDOUT`, which the caller must read to their end. */
  copyOut(statement: string): AsyncIterable<Buffer>;
  /** Yields rows of a query in batches, in bounded memory; needs an open transaction. */
  batches<Row extends pg.QueryResultRow>(text: string, size: number): AsyncIterable<Row[]>;
  /** Ends the session, and a running statement; uncommitted changes are rolled back. */
  close(): Promise<void>;
};

const connect_timeout_milliseconds = 30_000;
/**
 * Covers everything up to the answer to the first statement; `pg`'s own time limit ends when the
 * server admits the user.
 */
const start_timeout_milliseconds = 60_000;
const close_timeout_milliseconds = 5_000;

/**
 * Connects through the outbound guard. Guarantees: TLS with a checked certificate unless the config
 * says otherwise. The connection uses exactly the checked address. The session uses UTC and UTF-8.
 * It opens within 60 seconds or not at all. Aborting the signal ends it at once.
 */
export async function connect(
  access: ServerAccess,
  deps: Pick<DestinationDeps, 'outbound' | 'signal' | 'noteProgress'>,
): Promise<Connection> {
  const { outbound, signal } = deps;
  throwIfStopped(signal);
  const starting = AbortSignal.any([signal, AbortSignal.timeout(start_timeout_milliseconds)]);
  const way = await openWay(access.host, access.ssh, outbound, starting);
  const opening = { ...deps, starting };
  const isPlainAllowed = (error: unknown) =>
    access.require_tls === false &&
    error instanceof Error &&
    /does not support SSL/.test(error.message);
  return open(access, way, true, opening)
    .catch((error: unknown) => {
      if (!isPlainAllowed(error)) throw error;
      return open(access, way, false, opening);
    })
    .catch((error: unknown) => {
      way.close();
      throw error;
    });
}

/**
 * A client and its session's place; the number of pending statements, and the wait for their end
 * after it was broken off.
 */
type Session = {
  client: pg.Client;
  socket: Socket;
  place: Pick<CancelledSession, 'way' | 'port' | 'tls'>;
  statements: number;
  cancelled: Promise<void> | undefined;
};

type Opening = Pick<DestinationDeps, 'signal' | 'noteProgress'> & { starting: AbortSignal };

async function open(
  access: ServerAccess,
  way: Way,
  isEncrypted: boolean,
  { signal, starting, noteProgress }: Opening,
): Promise<Connection> {
  const socket = way.newSocket();
  const words = hearFirst(socket);
  const tls = {
    rejectUnauthorized: access.has_self_signed_cert !== true,
    host: access.host,
    ...(isIP(access.host) === 0 ? { servername: access.host } : {}),
  };
  const client = new pg.Client({
    user: access.user,
    password: access.password,
    host: way.host,
    port: access.port,
    database: access.database,
    ssl: isEncrypted ? tls : false,
    stream: () => socket,
    application_name: 'sluice',
    connectionTimeoutMillis: connect_timeout_milliseconds,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  });
  const session: Session = {
    client,
    socket,
    place: { way, port: access.port, tls: isEncrypted ? tls : undefined },
    statements: 0,
    cancelled: undefined,
  };
  const stopped = stopOf(signal, socket, () => breakOff(session));
  const lost = Promise.race([lossOf(client), stopped]);
  lost.catch(() => undefined);
  try {
    await unlessStopped(Promise.race([client.connect(), lost]), starting);
    await unlessStopped(Promise.race([client.query(access.session), lost]), starting);
  } catch (error) {
    socket.destroy();
    throw isRefusedAsOther(error, words.heard)
      ? otherServerError(words.heard, error)
      : unheardError(error, words);
  }
  return connectionOf(session, lost, noteProgress);
}

/**
 * Returns true if the answer to the request for TLS was not PostgreSQL's; it begins with E if the
 * server can open no session for the moment.
 */
function isRefusedAsOther(error: unknown, heard: Buffer): boolean {
  return (
    error instanceof Error &&
    /error establishing an SSL connection/.test(error.message) &&
    heard[0] !== 'E'.charCodeAt(0)
  );
}

/**
 * Rejects when the connection is lost; `pg-copy-streams` alone would wait for ever for an answer.
 */
function lossOf(client: pg.Client): Promise<never> {
  return new Promise<never>((_resolve, reject) => {
    client.on('error', reject);
    client.on('end', () => reject(new Error('Connection terminated')));
  });
}

/**
 * Ends the connection at once. A server with a running statement would only notice at its end, and
 * keep its locks until then.
 */
function breakOff(session: Session): void {
  const { processID, secretKey } = session.client as unknown as {
    processID: number | null;
    secretKey: number | null;
  };
  if (session.statements > 0 && processID !== null && secretKey !== null)
    session.cancelled ??= cancelStatement({
      ...session.place,
      process_id: processID,
      secret_key: secretKey,
    });
  session.socket.destroy();
  void Promise.resolve(session.cancelled).then(() => session.place.way.close());
}

/** Returns the connection that `pg` hides from its users, encrypted if that is required. */
function wire(client: pg.Client): { stream: Socket } {
  return (client as unknown as { connection: { stream: Socket } }).connection;
}

/**
 * Returns chunks to their pool when later ones come and all earlier bytes were sent; the last ones
 * become garbage. Call it before anything else reads the bytes.
 */
function giveBackWhenSent(bytes: Readable, isAllSent: () => boolean): void {
  let given: Buffer[] = [];
  bytes.on('data', (chunk: Buffer) => {
    if (isAllSent()) {
      given.forEach(giveBack);
      given = [];
    }
    given.push(chunk);
  });
}

type During = <Result>(statement: Promise<Result>) => Promise<Result>;

async function copyIn(
  client: pg.Client,
  during: During,
  statement: string,
  bytes: Readable,
): Promise<number> {
  const sink = client.query(copyFrom(statement));
  giveBackWhenSent(
    bytes,
    () => sink.writableLength === 0 && wire(client).stream.writableLength === 0,
  );
  try {
    await during(pipeline(bytes, sink));
  } finally {
    bytes.destroy();
  }
  return sink.rowCount;
}

function connectionOf(
  session: Session,
  lost: Promise<never>,
  noteProgress: DestinationDeps['noteProgress'],
): Connection {
  const { client, socket } = session;
  const during: During = async (statement) => {
    session.statements += 1;
    try {
      const result = await Promise.race([statement, lost]);
      noteProgress?.();
      return result;
    } finally {
      session.statements -= 1;
    }
  };
  const rows = async <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) =>
    (await during(values === undefined ? client.query<Row>(text) : client.query<Row>(text, values)))
      .rows;
  return {
    rows,
    run: async (text) => (await during(client.query(text))).rowCount ?? 0,
    end: async (statement) => {
      const { command } = await during(client.query(statement));
      if (command !== statement) throw rolledBackError();
    },
    copy: (statement, bytes) => copyIn(client, during, statement, bytes),
    copyOut: async function* (statement) {
      const chunks = client.query(copyTo(statement)) as AsyncIterable<Buffer>;
      const reader = chunks[Symbol.asyncIterator]();
      for (;;) {
        const chunk = await during(reader.next());
        if (chunk.done === true) return;
        yield chunk.value;
      }
    },
    batches: async function* <Row extends pg.QueryResultRow>(text: string, size: number) {
      await rows(`DECLARE sluice_batches CURSOR FOR ${text}`);
      for (;;) {
        const batch = await rows<Row>(`FETCH FORWARD ${size} FROM sluice_batches`);
        if (batch.length === 0) break;
        yield batch;
      }
      await rows('CLOSE sluice_batches');
    },
    close: async () => {
      const timer = setTimeout(() => socket.destroy(), close_timeout_milliseconds);
      if (session.statements > 0) breakOff(session);
      await Promise.race([client.end(), lost]).catch(() => undefined);
      clearTimeout(timer);
      socket.destroy();
      await session.cancelled;
      session.place.way.close();
    },
  };
}
