import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Outbound } from '../../../platform/outbound/outbound.ts';

/**
 * A forward proxy on the loopback interface; the outbound guard checks its every connection. Only
 * clients with its password may use it.
 */
export type Tunnel = {
  port: number;
  user: string;
  password: string;
  /** Ends all connections, and accepts no more. */
  close(): Promise<void>;
};

const user = 'sluice';

/**
 * Opens a tunnel for a client that makes its own connections and supports proxies. It only supports
 * CONNECT, so the traffic is TLS from end to end. `onFault` gets the guard's or the system's own
 * error of a failed connection: the client itself only learns that the proxy refused.
 */
export async function openTunnel(
  outbound: Outbound,
  onFault: (error: Error) => void,
): Promise<Tunnel> {
  const password = randomBytes(24).toString('base64url');
  const expected = Buffer.from(`Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`);
  const sockets = new Set<Duplex>();
  const keep = (socket: Duplex) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
  };
  const server = http.createServer((_request, response) => void response.writeHead(405).end());
  server.on('connect', (request: http.IncomingMessage, client: Duplex, first: Buffer) => {
    keep(client);
    const given = Buffer.from(request.headers['proxy-authorization'] ?? '');
    if (given.length !== expected.length || !timingSafeEqual(given, expected))
      return refuse(client, '407 Proxy Authentication Required');
    void join(request.url ?? '', client, first);
  });
  const join = async (target: string, client: Duplex, first: Buffer): Promise<void> => {
    try {
      const upstream = await connect(target, outbound);
      keep(upstream);
      // Ended, not destroyed: bytes that have already arrived must still be sent.
      client.once('close', () => upstream.end());
      upstream.once('close', () => client.end());
      if (client.destroyed) return void upstream.destroy();
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.write(first);
      upstream.pipe(client).pipe(upstream);
    } catch (error) {
      onFault(error as Error);
      refuse(client, '502 Bad Gateway');
    }
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    user,
    password,
    close: async () => {
      server.close();
      server.closeAllConnections();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

function refuse(client: Duplex, status: string): void {
  client.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`);
}

function connect(target: string, outbound: Outbound): Promise<Socket> {
  const { hostname, port } = new URL(`https://${target}`);
  return outbound.connect(hostname, port === '' ? 443 : Number(port));
}
