import type { Socket } from 'node:net';
import tls from 'node:tls';
import type { ConnectionOptions } from 'node:tls';
import type { Way } from '../way.ts';

/**
 * The session whose statement must end, by the server's own identifiers, and the connection to it.
 */
export type CancelledSession = {
  way: Way;
  port: number;
  process_id: number;
  secret_key: number;
  /** Undefined for a session without TLS. */ tls: ConnectionOptions | undefined;
};

const cancel_timeout_milliseconds = 2_000;
const ssl_request_code = 80_877_103;
const cancel_request_code = 80_877_102;

/**
 * Asks the server to end the session's current statement, over a separate connection as
 * PostgreSQL's protocol requires: a busy server does not check whether its client is still
 * connected. Resolves when the server has confirmed by closing the connection, and after 2 seconds
 * in any case; never rejects.
 */
export async function cancelStatement(session: CancelledSession): Promise<void> {
  const socket = session.way.newSocket().connect(session.port, session.way.host);
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => socket.destroy(), cancel_timeout_milliseconds);
  socket.on('error', () => undefined);
  socket.once('close', () => resolve());
  const request = int32s(16, cancel_request_code, session.process_id, session.secret_key);
  if (session.tls === undefined) socket.write(request);
  else requestEncrypted(socket, session.tls, request);
  await closed;
  clearTimeout(timer);
}

function requestEncrypted(socket: Socket, options: ConnectionOptions, request: Buffer): void {
  socket.write(int32s(8, ssl_request_code));
  socket.once('data', (answer: Buffer) => {
    if (answer.toString('latin1') !== 'S') return socket.destroy();
    const encrypted = tls.connect({ ...options, socket });
    encrypted.on('error', () => socket.destroy());
    encrypted.once('close', () => socket.destroy());
    encrypted.resume().write(request);
  });
}

function int32s(...numbers: number[]): Buffer {
  const buffer = Buffer.alloc(numbers.length * 4);
  for (const [index, number] of numbers.entries()) buffer.writeInt32BE(number, index * 4);
  return buffer;
}
