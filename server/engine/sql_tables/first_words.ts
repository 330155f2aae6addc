import type { Socket } from 'node:net';

/** What is known of a connection that came to nothing. */
export type FirstWords = { is_connected: boolean; heard: Buffer };

/**
 * Notes on a socket that is not connected yet what the server says first; to be called before
 * anything else reads it.
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
 * The error of a session that could not be opened, with a code that says more where the server took
 * the connection: `CLOSED_UNHEARD` when it then closed it without a word, `UNHEARD` when it said
 * nothing. Of other errors it is the error itself.
 */
export function unheardError(error: unknown, { is_connected, heard }: FirstWords): unknown {
  if (!(error instanceof Error) || !is_connected || heard.length > 0) return error;
  const said = `${String((error as NodeJS.ErrnoException).code)} ${error.message}`;
  const code = late.test(said) ? 'UNHEARD' : gone.test(said) ? 'CLOSED_UNHEARD' : undefined;
  return code === undefined
    ? error
    : Object.assign(new Error(error.message, { cause: error }), { code });
}

/** The error of a server of another kind; its message says which one it is, as far as is known. */
export function otherServerError(heard: Buffer, cause?: unknown): Error {
  const kind = kindOf(heard) ?? 'something else';
  return Object.assign(new Error(kind, { cause }), { code: 'OTHER_SERVER' });
}

/** True of how a server of MySQL's protocol begins: a first packet with a greeting or an error. */
export function isMySqlGreeting(heard: Buffer): boolean {
  return heard.length < 5 || (heard[3] === 0 && [9, 10, 255].includes(heard[4]!));
}

function kindOf(heard: Buffer): string | undefined {
  const text = heard.toString('latin1');
  if (/^(HTTP\/|<!doctype|<html)/i.test(text)) return 'an HTTP server';
  if (text.startsWith('SSH-')) return 'an SSH server';
  if (/^220[ -]/.test(text)) return 'a server of mails or files';
  if (/^[-+](ERR|NOAUTH|DENIED)/.test(text)) return 'Redis';
  // An alert of TLS, as the answer to what is none.
  if (heard[0] === 0x15 && heard[1] === 3) return 'a server that speaks only TLS, as HTTPS does';
  return heard.length >= 5 && isMySqlGreeting(heard) ? 'MySQL or MariaDB' : undefined;
}
