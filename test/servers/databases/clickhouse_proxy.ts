import http from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import { pipeline } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { createZstdDecompress } from 'node:zlib';
import { certificate, certificate_key } from '../certificate.ts';
import { listenLocally } from '../loopback.ts';

/**
 * An HTTP door to a ClickHouse, with TLS or without, that takes zstd as a real server does and
 * whose connections can be cut.
 */
export type ClickHouseProxy = {
  url: string;
  /** Ends all connections at once, as a broken network does. */
  cut(): void;
  /**
   * From now on no answer comes through, as when the server hangs; what is sent to it still does.
   */
  hold(): void;
  /** Called with the text of each statement before it is passed on, which waits for the promise. */
  watch(before: ((statement: string) => Promise<void> | void) | undefined): void;
  close(): Promise<void>;
};

/** What is unpacked goes on in pieces of this size: with Node's own of 16 KiB each costs more. */
const unpacked_bytes = 1024 * 1024;

/**
 * Opens the door on 127.0.0.1 in front of the server of the URL; user and password of the requests
 * are passed on.
 */
export async function openClickHouseProxy(
  serverUrl: string,
  options: { tls: boolean },
): Promise<ClickHouseProxy> {
  const agent = new http.Agent({ keepAlive: false });
  let isHeld = false;
  let watcher: Parameters<ClickHouseProxy['watch']>[0];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const query = new URL(request.url ?? '/', 'http://proxy').searchParams.get('query');
    const text = query === null ? await textOf(request) : undefined;
    await watcher?.(query ?? text ?? '');
    const {
      host: _host,
      'content-encoding': encoding,
      'content-length': _length,
      ...headers
    } = request.headers;
    const upstream = http.request(
      new URL(request.url ?? '/', serverUrl),
      { method: request.method ?? 'GET', headers, agent },
      (answer) => {
        if (isHeld) return;
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        pipeline(answer, response, () => undefined);
      },
    );
    upstream.on('error', () => response.destroy());
    response.on('close', () => upstream.destroy());
    if (text !== undefined) upstream.end(text);
    else if (encoding === 'zstd')
      pipeline(
        request,
        createZstdDecompress({ chunkSize: unpacked_bytes }),
        upstream,
        () => undefined,
      );
    else pipeline(request, upstream, () => undefined);
  };
  const listener = (request: IncomingMessage, response: ServerResponse) =>
    void take(request, response).catch(() => response.destroy());
  const server = options.tls
    ? https.createServer({ cert: certificate, key: certificate_key }, listener)
    : http.createServer(listener);
  const { port, cut, close } = await listenLocally(server);
  return {
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    cut,
    hold: () => (isHeld = true),
    watch: (before) => (watcher = before),
    close: async () => {
      await close();
      agent.destroy();
    },
  };
}
