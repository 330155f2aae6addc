import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { OutboundRefused } from '../../../../platform/outbound/outbound_faults.ts';
import type { Outbound } from '../../../../platform/outbound/outbound.ts';
import { requireAllowed } from './plugin_fetch.ts';

/** The outbound access of plugins; without `connect`, only for `fetch`. */
export type PluginOutbound = Pick<Outbound, 'fetch'> & Partial<Pick<Outbound, 'connect'>>;

/**
 * Connections that the server makes for a tool whose client uses another protocol than HTTP, or its
 * own connections. The tool's process sends and requests bytes: nothing is read before a request,
 * and a write ends when the system has accepted it.
 */
export type PluginSockets = {
  /**
   * Connects to a host that `allowed_hosts` names and the server's guard allows, within 10 s;
   * returns the number of the connection. Throws an OutboundRefused for a forbidden host, and the
   * system's own error.
   */
  open(place: SocketPlace): Promise<number>;
  /** Sends bytes in base64. */
  write(socket: number, bytes: string): Promise<void>;
  /** Returns the next bytes in base64; null at their end. */
  read(socket: number): Promise<string | null>;
  /** Ends the writing side. */
  end(socket: number): void;
  close(socket: number): void;
};

/** A host and a port. */
export const SocketPlace = Type.Object({
  host: Type.String({ minLength: 1, maxLength: 260, pattern: '^[^\\s/@?#\\\\]+$' }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
});
export type SocketPlace = Static<typeof SocketPlace>;

const connect_milliseconds_max = 10_000;
const silence_milliseconds_max = 60_000;
const sockets_max = 16;
const read_bytes_max = 256 * 1024;

/** Opens no connection yet; all close with the signal. */
export function openPluginSockets(
  { outbound, allowed_hosts }: { outbound: PluginOutbound; allowed_hosts: string[] },
  signal: AbortSignal,
): PluginSockets {
  const sockets = new Map<number, Socket>();
  let [last, opening] = [0, 0];
  signal.addEventListener('abort', () => {
    for (const socket of sockets.values()) socket.destroy();
  });
  const find = (number: number): Socket => {
    const socket = sockets.get(number);
    if (socket === undefined) throw new OutboundRefused('The connection is closed.');
    if (socket.errored !== null) throw socket.errored;
    return socket;
  };
  const connect = async ({ host, port }: SocketPlace): Promise<Socket> => {
    if (outbound.connect === undefined)
      throw new OutboundRefused('Connections cannot be opened here.');
    if (sockets.size + opening >= sockets_max)
      throw new OutboundRefused(`The tool has ${sockets_max} connections open: close some.`);
    const { hostname } = requireAllowed(
      `http://${isIPv6(host) ? `[${host}]` : host}:${port}/`,
      allowed_hosts,
    );
    opening += 1;
    try {
      return await inTime(outbound.connect(hostname, port));
    } finally {
      opening -= 1;
    }
  };
  return {
    open: async (place) => {
      const socket = await connect(place);
      const number = (last += 1);
      // The next read or write gets the fault.
      socket
        .on('error', () => {})
        .setTimeout(silence_milliseconds_max, () => {
          socket.destroy(Object.assign(new Error('nothing came for long'), { code: 'ETIMEDOUT' }));
        });
      if (signal.aborted) socket.destroy();
      sockets.set(number, socket.pause());
      return number;
    },
    write: (number, bytes) => writeAll(find(number), Buffer.from(bytes, 'base64')),
    read: (number) => readNext(find(number)),
    end: (number) => void sockets.get(number)?.end(),
    close: (number) => {
      sockets.get(number)?.destroy();
      sockets.delete(number);
    },
  };
}

function writeAll(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.write(bytes, (error) => (error ? reject(socket.errored ?? error) : resolve()));
  });
}

async function readNext(socket: Socket): Promise<string | null> {
  for (;;) {
    const size = Math.min(socket.readableLength, read_bytes_max);
    const bytes = socket.read(size === 0 ? undefined : size) as Buffer | null;
    if (bytes !== null) return bytes.toString('base64');
    if (socket.errored !== null) throw socket.errored;
    if (socket.readableEnded || socket.destroyed) return null;
    await changed(socket);
  }
}

/** Resolves when there is something to read, or will never be. */
async function changed(socket: Socket): Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  try {
    await Promise.race(
      ['readable', 'end', 'close'].map((event) => once(socket, event, { signal })),
    );
  } catch {
    // The caller reads an error from the socket.
  } finally {
    over.abort();
  }
}

/** Closes a connection that comes too late. */
async function inTime(connecting: Promise<Socket>): Promise<Socket> {
  const over = new AbortController();
  const late = pause(connect_milliseconds_max, undefined, { signal: over.signal }).then(() => {
    throw Object.assign(new Error('no connection in time'), { code: 'ETIMEDOUT' });
  });
  late.catch(() => {});
  try {
    return await Promise.race([connecting, late]);
  } catch (error) {
    void connecting.then(
      (socket) => socket.destroy(),
      () => {},
    );
    throw error;
  } finally {
    over.abort();
  }
}
