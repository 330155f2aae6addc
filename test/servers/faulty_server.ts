import assert from 'node:assert/strict';
import http from 'node:http';
import { listenLocally } from './loopback.ts';
import { eventually } from '../eventually.ts';

/** A server on 127.0.0.1 whose answers can be taken over, one request at a time. */
export type FaultyServer = {
  endpoint: string;
  /** Received requests, as `PUT /path?query`. */
  requests: string[];
  /**
   * Answers the next matching request with this status and code, in the server's own form of an
   * error.
   */
  failNext(pattern: RegExp, status: number, code: string): void;
  /** Answers the next matching request when `meanwhile` has ended; never without it. */
  holdNext(pattern: RegExp, meanwhile?: () => Promise<unknown>): void;
  /** Breaks the connection of the next matching request, after its first bytes. */
  dropNext(pattern: RegExp): void;
  /** Does the next matching request, and breaks its connection instead of an answer. */
  loseNext(pattern: RegExp): void;
  close(): Promise<void>;
};

/** Writes an error in the server's own form. */
export type Refusal = (
  request: http.IncomingMessage,
  response: http.ServerResponse,
  status: number,
  code: string,
) => void;
type Handler = (request: http.IncomingMessage, response: http.ServerResponse) => void;
type Fault = { pattern: RegExp; handle: Handler };

/** Starts one that answers with `handle` unless a fault was requested; `refuse` writes an error. */
export async function openFaultyServer(handle: Handler, refuse: Refusal): Promise<FaultyServer> {
  const faults: Fault[] = [];
  const requests: string[] = [];
  const server = http.createServer((request, response) => {
    const line = `${request.method} ${request.url}`;
    requests.push(line);
    const index = faults.findIndex(({ pattern }) => pattern.test(line));
    const [fault] = index === -1 ? [] : faults.splice(index, 1);
    (fault?.handle ?? handle)(request, response);
  });
  const { port, close } = await listenLocally(server);
  const next = (pattern: RegExp, fault: Handler) => void faults.push({ pattern, handle: fault });
  return {
    endpoint: `http://127.0.0.1:${port}`,
    requests,
    failNext: (pattern, status, code) =>
      next(pattern, (request, response) => {
        request.resume();
        refuse(request, response, status, code);
      }),
    holdNext: (pattern, meanwhile) =>
      next(pattern, (request, response) => {
        request.resume();
        void meanwhile?.().then(() => handle(request, response));
      }),
    dropNext: (pattern) =>
      next(pattern, (request) => void request.once('readable', () => request.destroy())),
    loseNext: (pattern) =>
      next(pattern, (request, response) => {
        response.writeHead = () => response;
        response.write = () => true;
        response.end = () => {
          request.socket.destroy();
          return response;
        };
        handle(request, response);
      }),
    close,
  };
}

/** Starts `wait`, and stops it once its request has arrived and is held; it must reject. */
export async function stopWhileHeld(
  server: Pick<FaultyServer, 'holdNext' | 'requests'>,
  pattern: RegExp,
  stop: AbortController,
  wait: () => Promise<unknown>,
): Promise<void> {
  server.holdNext(pattern);
  const seen = server.requests.length;
  const waiting = assert.rejects(wait());
  await eventually('the request has not come', () =>
    server.requests.slice(seen).some((request) => pattern.test(request)),
  );
  stop.abort('cancelled');
  await waiting;
}
