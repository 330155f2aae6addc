import type { Socket } from 'node:net';
import type { Way } from './way.ts';

/** The facts about a failed connection. */
export type FirstWords = { is_connected: boolean; heard: Buffer };

/**
 * Records what the server first sends on an unconnected socket; call it before anything else reads
 * the socket.
 */
export function hearFirst(socket: Socket): FirstWords {
  const words: FirstWords = { is_connected: false, heard: Buffer.alloc(0) };
  socket.once('connect', () => (words.is_connected = true));
  socket.once('data', (bytes: Buffer) => (words.heard = Buffer.from(bytes.subarray(0, 64))));
  return words;
}

const gone = /ECONNRESET|EPIPE|PROTOCOL_CONNECTION_LOST|Connection terminated unexpectedly/;
const late = /ETIMEDOUT|timeout expired|Connection terminated due to connection timeout/;

/**
 * Returns the error of a session that could not be opened, with a more precise code if the server
 * accepted the connection. The code is `CLOSED_UNHEARD` if it then closed it silently, `UNHEARD` if
 * it sent nothing. Other errors are returned unchanged.
 */
export function unheardError(error: unknown, { is_connected, heard }: FirstWords): unknown {
  if (!(error instanceof Error) || !is_connected || heard.length > 0) return error;
  const said = `${String((error as NodeJS.ErrnoException).code)} ${error.message}`;
  const code = late.test(said) ? 'UNHEARD' : gone.test(said) ? 'CLOSED_UNHEARD' : undefined;
  return code === undefined
    ? error
    : Object.assign(new Error(error.message, { cause: error }), { code });
}

const silence_milliseconds = 1_000;
/**
 * PostgreSQL's request for TLS, which it answers with a letter. HTTP servers refuse it in their own
 * words, some only after the end of the line and its headers.
 */
const question = Buffer.concat([
  Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]),
  Buffer.from('\r\n\r\n'),
]);

/**
 * Rejects if a server stays silent although MySQL would greet first, and its answer to a probe
 * shows another kind of server. The probe uses its own connection: a MySQL that resolves names
 * before it greets would take the probe for the answer to its greeting.
 */
export function otherServerIn(socket: Socket, { host, newSocket }: Way, port: number) {
  return new Promise<never>((_resolve, reject) => {
    const asking = newSocket();
    let timer: NodeJS.Timeout | undefined;
    const ask = () => asking.connect(port, host);
    socket.once('connect', () => (timer = setTimeout(ask, silence_milliseconds)));
    const stop = () => {
      clearTimeout(timer);
      asking.destroy();
    };
    asking.once('connect', () => asking.write(question));
    asking.once('data', (heard: Buffer) => {
      const kind = kindOf(heard);
      if (kind !== undefined && kind !== my_sql) reject(otherServerError(heard));
      stop();
    });
    // The session reports the faults of the server.
    asking.on('error', stop);
    socket.once('data', stop);
    socket.once('close', stop);
  });
}

/** Returns the error for a server of another kind; its message names the kind, if known. */
export function otherServerError(heard: Buffer, cause?: unknown): Error {
  const kind = kindOf(heard) ?? 'something else';
  return Object.assign(new Error(kind, { cause }), { code: 'OTHER_SERVER' });
}

/** Returns true for the beginning of a MySQL server: a first packet with a greeting or an error. */
export function isMySqlGreeting(heard: Buffer): boolean {
  return heard.length < 5 || (heard[3] === 0 && [9, 10, 255].includes(heard[4]!));
}

const my_sql = 'MySQL or MariaDB';

function kindOf(heard: Buffer): string | undefined {
  const text = heard.toString('latin1');
  if (/^(HTTP\/|<!doctype|<html)/i.test(text)) return 'an HTTP server';
  if (text.startsWith('SSH-')) return 'an SSH server';
  if (/^220[ -]/.test(text)) return 'a mail or file server';
  if (/^[-+](ERR|NOAUTH|DENIED)/.test(text)) return 'Redis';
  // An alert of TLS, in answer to other bytes.
  if (heard[0] === 0x15 && heard[1] === 3) return 'a server that speaks only TLS, as HTTPS does';
  // The letter that answers the request for TLS, and the error for the bytes after the request.
  if (/^[SN](E\0|$)/.test(text)) return 'PostgreSQL or what speaks its protocol';
  return heard.length >= 5 && isMySqlGreeting(heard) ? my_sql : undefined;
}
