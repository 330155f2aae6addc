import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { Socket } from 'node:net';
import { certificate, certificate_key } from './certificate.ts';
import { endTogether, listenLocally } from './loopback.ts';
import type { LocalServer } from './loopback.ts';

/** A proxy for tests: it accepts CONNECT, and connects every target to a port of 127.0.0.1. */
export type ConnectProxy = LocalServer & {
  /** The requested targets, with the credentials, in order. */
  asked: { target: string; authorization: string | undefined }[];
  /** The ports of the targets; others are answered 502. */
  targets: Record<string, number>;
  /** The behaviour instead of a tunnel: a status, the end of the connection, silence, nonsense. */
  instead: number | 'end' | 'silence' | 'nonsense' | undefined;
};

/** Starts a proxy, which requires these credentials if they are given; `is_tls` for `https://`. */
export async function startConnectProxy(
  options: { credentials?: string; is_tls?: boolean } = {},
): Promise<ConnectProxy> {
  const server = options.is_tls
    ? https.createServer({ cert: certificate, key: certificate_key })
    : http.createServer();
  const local = await listenLocally(server);
  const proxy: ConnectProxy = { ...local, asked: [], targets: {}, instead: undefined };
  const expected =
    options.credentials === undefined
      ? undefined
      : `Basic ${Buffer.from(options.credentials).toString('base64')}`;
  server.on('connect', (request: http.IncomingMessage, client: Socket, first: Buffer) => {
    const { url: target = '', headers } = request;
    const authorization = headers['proxy-authorization'];
    proxy.asked.push({ target, authorization });
    const refuse = (status: number) => client.end(`HTTP/1.1 ${status} No\r\n\r\nYou may not.`);
    client.on('error', () => client.destroy());
    if (proxy.instead === 'silence') return;
    if (proxy.instead === 'end') return client.destroy();
    if (proxy.instead === 'nonsense') return client.end('SSH-2.0-OpenSSH\r\n');
    if (proxy.instead !== undefined) return refuse(proxy.instead);
    if (expected !== undefined && authorization !== expected) return refuse(407);
    const port = proxy.targets[target];
    if (port === undefined) return refuse(502);
    const upstream = net.connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(first);
      upstream.pipe(client).pipe(upstream);
    });
    endTogether(client, upstream);
  });
  return proxy;
}
