import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import type { ToolExchange } from '../tool_outcome.ts';
import { bodyOf, headerFieldsOf, noteRequest } from './exchanges.ts';

/** An answer of the server to a request: of the other side, or why there is none. */
type Answer =
  | { url: string; status: number; status_text: string; headers: [string, string][]; body: string }
  | { error: { name: string; message: string } };

/** The other side, as one call of a tool has seen it. */
export type Seen = {
  instance: number;
  /** The last answer. */
  status: number | undefined;
  retry_after: string | undefined;
  text: string;
  /** The server refused a request, and why. */
  refusal: string | undefined;
  /** The requests and their answers. */
  exchanges: ToolExchange[];
};

/** The only way out of the process: requests that the server makes. */
export type WayOut = {
  /** Runs work whose requests are those of the instance. */
  during<Result>(instance: number, work: () => Promise<Result>): Promise<Result>;
  /** Returns what the present call has seen; undefined outside of calls. */
  seen(): Seen | undefined;
  /** Puts our `fetch` in the place of the library's. */
  replaceFetch(require: NodeJS.Require): void;
  answered(request: number, answer: Answer): void;
};

const text_length_max = 2_000;
// The server writes these itself.
const reserved_headers =
  /^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|keep-alive|expect|proxy-.*|sec-.*|accept-encoding)$/i;

/** Lets no socket connect: whatever client the library's packages bring, it reaches nobody. */
export function closeNetwork(): void {
  Socket.prototype.connect = function refuse(this: Socket) {
    const error = new Error('Tools reach the network by the server alone.');
    process.nextTick(() => this.destroy(error));
    return this;
  };
}

/** Reads the text of the server's reply. */
export function answerOf(is_ok: boolean, text: string): Answer {
  const value = JSON.parse(text) as never;
  return is_ok ? value : { error: value };
}

/** Opens the way out; `send` hands a request to the server. */
export function openWayOut(
  send: (instance: number, request: number, text: string) => void,
): WayOut {
  const calls = new AsyncLocalStorage<Seen>();
  const waiting = new Map<number, (answer: Answer) => void>();
  let last = 0;
  const ask = (seen: Seen, request: object): Promise<Answer> =>
    new Promise((resolve) => {
      last += 1;
      waiting.set(last, resolve);
      send(seen.instance, last, JSON.stringify([request]));
    });
  const fetchBytes = async (sent: SentRequest) => {
    const seen = calls.getStore();
    if (seen === undefined) throw new Error('A tool may send nothing outside of a call.');
    const request = requestOf(sent);
    const noted = noteRequest(seen.exchanges, { ...request, body: sent.body });
    const answer = await ask(seen, request);
    if ('error' in answer) {
      noted.error = answer.error.message;
      throw noAnswer(seen, answer.error);
    }
    const body = Buffer.from(answer.body, 'base64');
    const { status, headers } = answer;
    noted.answer = { status, header_fields: headerFieldsOf(headers), body: bodyOf(body) };
    seen.status = answer.status;
    seen.text = body.subarray(0, text_length_max).toString('utf8');
    seen.retry_after = answer.headers.find(([name]) => /^retry-after$/i.test(name))?.[1];
    return { ...answer, body };
  };
  return {
    during: (instance, work) =>
      calls.run(
        {
          instance,
          status: undefined,
          retry_after: undefined,
          text: '',
          refusal: undefined,
          exchanges: [],
        },
        work,
      ),
    seen: () => calls.getStore(),
    replaceFetch: (require) => replaceFetch(require, fetchBytes),
    answered: (request, answer) => {
      waiting.get(request)?.(answer);
      waiting.delete(request);
    },
  };
}

type SentRequest = {
  url: string;
  method: string;
  headers: Iterable<[string, string]>;
  body: Buffer;
};

/** The request as the server takes it: credentials of the address go into a header. */
function requestOf({ url, method, headers, body }: SentRequest) {
  const address = new URL(url);
  const { username, password } = address;
  const sent = [...headers].filter(
    ([name]) => !reserved_headers.test(name) && !/^user-agent$/i.test(name),
  );
  sent.push(['user-agent', 'Sluice']);
  if (username !== '' || password !== '') {
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    sent.push(['authorization', `Basic ${Buffer.from(pair).toString('base64')}`]);
    [address.username, address.password] = ['', ''];
  }
  const hasBody = method !== 'GET' && method !== 'HEAD' && body.length > 0;
  return {
    url: address.href,
    method: method.toUpperCase(),
    headers: sent,
    body: hasBody ? body.toString('base64') : null,
  };
}

/** A refusal of the server is remembered: a tool may take its error for one of the other side. */
function noAnswer(seen: Seen, { name, message }: { name: string; message: string }): Error {
  if (name !== 'FetchError') seen.refusal = message;
  return Object.assign(new Error(message), { name, code: 'NO_ANSWER' });
}

type FetchBytes = (request: SentRequest) => Promise<{
  url: string;
  status: number;
  status_text: string;
  headers: [string, string][];
  body: Buffer;
}>;

type OldRequest = Omit<SentRequest, 'body'> & { buffer(): Promise<Buffer> };
type CrossFetch = {
  Request: new (input: unknown, init?: unknown) => OldRequest;
  Response: new (body: Buffer | null, init: object) => unknown;
  Headers: unknown;
};

/**
 * The library's requests all come to the `fetch` of one package, whose classes it also compares
 * with. The platform's own `fetch` is replaced too.
 */
function replaceFetch(require: NodeJS.Require, fetchBytes: FetchBytes): void {
  const core = createRequire(require.resolve('@segment/actions-core'));
  const path = core.resolve('cross-fetch');
  const { Request: OldRequest, Response: OldResponse, Headers } = core(path) as CrossFetch;
  const fetchOld = async (input: unknown, init?: unknown) => {
    const request = new OldRequest(input, init);
    const { url, method, headers } = request;
    const answer = await fetchBytes({ url, method, headers, body: await request.buffer() });
    // A body of bytes can be read twice. A stream would stand still at the first large answer.
    return new OldResponse(answer.body, {
      url: answer.url,
      status: answer.status,
      statusText: answer.status_text,
      headers: answer.headers,
    });
  };
  const exported = Object.assign(fetchOld, {
    fetch: fetchOld,
    default: fetchOld,
    ponyfill: true,
    Request: OldRequest,
    Response: OldResponse,
    Headers,
  });
  core.cache[path]!.exports = exported;
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const { url, method, headers } = request;
    const body = Buffer.from(await request.arrayBuffer());
    const answer = await fetchBytes({ url, method, headers, body });
    const isEmpty = [101, 204, 205, 304].includes(answer.status);
    return new Response(isEmpty ? null : new Uint8Array(answer.body), {
      status: answer.status,
      statusText: answer.status_text,
      headers: answer.headers,
    });
  };
}
