import http from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import { pipeline } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { certificate, certificate_key } from './certificate.ts';
import { listenLocally } from './loopback.ts';

/** A complete request; `body` is decompressed. */
export type Received = { path: string; headers: IncomingHttpHeaders; body: string };

/**
 * An endpoint for rows as JSON. It acknowledges a repeated `Idempotency-Key` again, without
 * accepting the rows a second time.
 */
export type HttpReceiver = {
  url: string;
  /** Every request, also the refused ones. */
  requests: Received[];
  /** The accepted rows of the path, as lines of JSON, in order. */
  taken(path: string): string[];
  /**
   * Plans the answers to the next requests, one each; later ones are all accepted. `cut` ends the
   * connection, `take and cut` does so after it has accepted the rows.
   */
  plan(...answers: Answer[]): void;
  /** Called after a request has arrived completely, before it is handled. */
  onRequest(listener: () => void): void;
  close(): Promise<void>;
};

/** An answer, or what happens instead of one. */
export type Answer =
  | 'take'
  | 'cut'
  | 'take and cut'
  | 'hang'
  | { status: number; headers?: Record<string, string>; body?: string; is_endless?: boolean };

const decompressors: Record<string, (bytes: Buffer) => Buffer> = {
  gzip: gunzipSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
};

/**
 * Opens an endpoint on 127.0.0.1. With a token, requests to `/guarded...` need it as a bearer.
 * `/nothing` is not found, `/hang` never answers.
 */
export async function openHttpReceiver(options: {
  tls?: boolean;
  token?: string;
}): Promise<HttpReceiver> {
  const requests: Received[] = [];
  const rows = new Map<string, string[]>();
  const known = new Set<string>();
  let answers: Answer[] = [];
  let listener = () => {};
  const takeRows = ({ path, headers, body }: Received): void => {
    const id = `${path} ${String(headers['idempotency-key'])}`;
    if (known.has(id)) return;
    known.add(id);
    rows.set(path, [...(rows.get(path) ?? []), ...linesOf(headers, body)]);
  };
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const received = await receive(request);
    requests.push(received);
    listener();
    if (
      received.path.startsWith('/guarded') &&
      received.headers.authorization !== `Bearer ${options.token}`
    )
      return void response.writeHead(401).end();
    if (received.path === '/nothing') return void response.writeHead(404).end();
    if (received.path === '/hang') return;
    const answer = answers.shift() ?? 'take';
    if (answer === 'take' || answer === 'take and cut') takeRows(received);
    if (answer === 'hang') return;
    if (answer === 'cut' || answer === 'take and cut') return void request.socket.destroy();
    if (answer === 'take') return void response.end('{"taken":true}');
    response.writeHead(answer.status, answer.headers);
    if (answer.is_endless === true) pipeline(endless(), response, () => undefined);
    else response.end(answer.body);
  };
  const handler = (request: IncomingMessage, response: ServerResponse) =>
    void take(request, response).catch(() => response.destroy());
  const server =
    options.tls === true
      ? https.createServer({ cert: certificate, key: certificate_key }, handler)
      : http.createServer(handler);
  const { port, close } = await listenLocally(server);
  return {
    url: `${options.tls === true ? 'https' : 'http'}://127.0.0.1:${port}`,
    requests,
    taken: (path) => rows.get(path) ?? [],
    plan: (...planned) => (answers = planned),
    onRequest: (called) => (listener = called),
    close,
  };
}

function* endless(): Generator<string> {
  for (;;) yield 'x'.repeat(65_536);
}

async function receive(request: IncomingMessage): Promise<Received> {
  const decompress = decompressors[request.headers['content-encoding'] ?? ''];
  const bytes = await buffer(request);
  return {
    path: request.url ?? '/',
    headers: request.headers,
    body: (decompress === undefined ? bytes : decompress(bytes)).toString(),
  };
}

/** Returns the rows of a body, each unchanged, because numbers must not pass through JavaScript. */
function linesOf(headers: IncomingHttpHeaders, body: string): string[] {
  if (headers['content-type'] === 'application/x-ndjson') return body.split('\n').slice(0, -1);
  JSON.parse(body);
  const list = body.startsWith('[')
    ? body
    : body.slice(body.indexOf('"batch":') + '"batch":'.length, -1);
  return splitList(list.slice(1, -1));
}

/** Splits `{...},{...}` at the commas between the objects. */
function splitList(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === '{') depth += 1;
    else if (token === '}' && --depth === 0) {
      parts.push(text.slice(from, index + 1));
      from = index + 2;
    }
  }
  return parts;
}
