import http from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import { pipeline } from 'node:stream';
import type { Writable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { createZstdDecompress } from 'node:zlib';
import { certificate, certificate_key } from '../certificate.ts';
import { listenLocally } from '../loopback.ts';

/**
 * An HTTP proxy of a ClickHouse, with TLS or without, that accepts zstd as a real server does and
 * whose connections can be cut.
 */
export type ClickHouseProxy = {
  url: string;
  /** Ends all connections at once, like a broken network. */
  cut(): void;
  /** Stops all answers from now on, as if the server hung; requests still reach it. */
  hold(): void;
  /** Called with the text of each statement before it is passed on, which waits for the promise. */
  watch(before: ((statement: string) => Promise<void> | void) | undefined): void;
  /** Takes over the answer to the next matching statement; undefined clears that. */
  strike(fault: ClickHouseFault | undefined): void;
  close(): Promise<void>;
};

/**
 * The fault of the first matching statement, after one that matches `follows`. `reaches`: whether
 * the server gets it. The client gets an error of the server, nothing, or the end of its
 * connection. `away`: later statements are cut too.
 */
export type ClickHouseFault = {
  pattern: RegExp;
  follows?: RegExp;
  reaches: boolean;
  answer: { code: number; type: string; message: string } | 'nothing' | 'cut';
  away?: true;
};

/** The size of decompressed pieces; with Node's own of 16 KiB each costs more. */
const unpacked_bytes = 1024 * 1024;

/**
 * Opens the proxy on 127.0.0.1 in front of the server of the URL; user and password of the requests
 * are passed on.
 */
export async function openClickHouseProxy(
  serverUrl: string,
  options: { tls: boolean },
): Promise<ClickHouseProxy> {
  const agent = new http.Agent({ keepAlive: false });
  let isHeld = false;
  let watcher: Parameters<ClickHouseProxy['watch']>[0];
  const faults = openFaults();
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const query = new URL(request.url ?? '/', 'http://proxy').searchParams.get('query');
    const text = query === null ? await textOf(request) : undefined;
    await watcher?.(query ?? text ?? '');
    if (faults.isAway()) return void response.destroy();
    const struck = faults.take(query ?? text ?? '');
    if (struck?.reaches === false) {
      request.resume();
      return refuse(response, struck.answer);
    }
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
        if (struck !== undefined)
          return void answer.resume().once('end', () => refuse(response, struck.answer));
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        pipeline(answer, response, () => undefined);
      },
    );
    upstream.on('error', () => response.destroy());
    response.on('close', () => upstream.destroy());
    if (text === undefined) passOn(request, upstream, encoding);
    else upstream.end(text);
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
    strike: faults.strike,
    close: async () => {
      await close();
      agent.destroy();
    },
  };
}

function refuse(response: ServerResponse, answer: ClickHouseFault['answer']): void {
  if (answer === 'nothing') return;
  if (answer === 'cut') return void response.destroy();
  const { code, type, message } = answer;
  response
    .writeHead(500, { 'x-clickhouse-exception-code': String(code) })
    .end(`Code: ${code}. DB::Exception: ${message}. (${type}) (version 25.8.1.1)\n`);
}

/** The requested fault, until its statement arrives. */
function openFaults() {
  let fault: ClickHouseFault | undefined;
  let isAway = false;
  return {
    isAway: () => isAway,
    strike: (wanted: ClickHouseFault | undefined) => {
      fault = wanted && { ...wanted };
      isAway = false;
    },
    take: (statement: string): ClickHouseFault | undefined => {
      if (fault?.follows?.test(statement) === true) delete fault.follows;
      if (fault?.follows !== undefined || fault?.pattern.test(statement) !== true) return undefined;
      const taken = fault;
      isAway = taken.away === true;
      fault = undefined;
      return taken;
    },
  };
}

function passOn(request: IncomingMessage, upstream: Writable, encoding: string | undefined): void {
  if (encoding === 'zstd')
    pipeline(
      request,
      createZstdDecompress({ chunkSize: unpacked_bytes }),
      upstream,
      () => undefined,
    );
  else pipeline(request, upstream, () => undefined);
}
