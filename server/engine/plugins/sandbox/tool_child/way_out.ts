import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import type { ToolExchange } from '../tool_outcome.ts';
import { readAnswer } from './answers.ts';
import type { KnownAnswers, ReadAnswers } from './answers.ts';
import { bodyOf, headerFieldsOf, noteRequest } from './exchanges.ts';
import { guardSockets } from './guarded_socket.ts';
import type { PluginResponse } from '../network/plugin_fetch.ts';

/** A reply of the server: its value, or the error. */
type Reply = { value: unknown } | { error: { name: string; message: string } };

/** The other side, as one call of a tool has seen it. */
export type Seen = {
  instance: number;
  /** True if it has sent a request. */
  has_asked: boolean;
  /** The last answer. */
  status: number | undefined;
  retry_after: string | undefined;
  text: string;
  /** The server's reason to refuse a request. */
  refusal: string | undefined;
  /** The requests and their answers. */
  exchanges: ToolExchange[];
  /** The known answers of the vendor, and the verdict on those of this call. */
  known: KnownAnswers | undefined;
  read: ReadAnswers;
};

/** The only access to the network: requests and connections that the server makes. */
export type WayOut = {
  /** Runs work whose requests belong to the instance. */
  during<Result>(instance: number, work: () => Promise<Result>): Promise<Result>;
  /** Returns what the present call has seen; undefined outside of calls. */
  seen(): Seen | undefined;
  /** Replaces the library's `fetch` by ours. */
  replaceFetch(require: NodeJS.Require): void;
  answered(request: number, reply: Reply): void;
};

const text_length_max = 2_000;
// Only the server writes these.
const reserved_headers =
  /^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|keep-alive|expect|proxy-.*|sec-.*|accept-encoding)$/i;

/** Parses the text of the server's reply. */
export function replyOf(is_ok: boolean, text: string): Reply {
  const value = JSON.parse(text) as never;
  return is_ok ? { value } : { error: value };
}

/** Opens it; `send` sends a request to the server. */
export function openWayOut(
  send: (instance: number, request: number, name: string, text: string) => void,
): WayOut {
  const calls = new AsyncLocalStorage<Seen>();
  const waiting = new Map<number, (reply: Reply) => void>();
  let last = 0;
  const seenNow = (): Seen => {
    const seen = calls.getStore();
    if (seen === undefined) throw new Error('A tool may send nothing outside of a call.');
    return seen;
  };
  const ask = async (seen: Seen, name: string, parameters: unknown[]): Promise<unknown> => {
    const number = (last += 1);
    seen.has_asked = true;
    const replied = new Promise<Reply>((resolve) => waiting.set(number, resolve));
    send(seen.instance, number, name, JSON.stringify(parameters));
    const reply = await replied;
    if ('error' in reply) throw noAnswer(seen, reply.error);
    return reply.value;
  };
  guardSockets(() => {
    const seen = seenNow();
    return (name, ...parameters) => ask(seen, name, parameters);
  });
  const fetchBytes = async (sent: SentRequest) => {
    const seen = seenNow();
    const request = requestOf(sent);
    const noted = noteRequest(seen.exchanges, { ...request, body: sent.body });
    const answer = (await ask(seen, 'fetch', [request]).catch((error: Error) => {
      noted.error = error.message.slice(0, text_length_max);
      throw error;
    })) as PluginResponse;
    const body = Buffer.from(answer.body, 'base64');
    const { status, headers } = answer;
    noted.answer = { status, header_fields: headerFieldsOf(headers), body: bodyOf(body) };
    seen.status = answer.status;
    seen.text = body.subarray(0, text_length_max).toString('utf8');
    seen.retry_after = retryAfterOf(status, headers);
    if (seen.known !== undefined) readAnswer(seen.known, status, body.toString('utf8'), seen.read);
    return { ...answer, body };
  };
  return {
    during: (instance, work) => calls.run(nothingSeen(instance), work),
    seen: () => calls.getStore(),
    replaceFetch: (require) => replaceFetch(require, fetchBytes),
    answered: (request, reply) => {
      waiting.get(request)?.(reply);
      waiting.delete(request);
    },
  };
}

/** Returns the other side as a new call sees it. */
function nothingSeen(instance: number): Seen {
  return {
    instance,
    has_asked: false,
    status: undefined,
    retry_after: undefined,
    text: '',
    refusal: undefined,
    exchanges: [],
    known: undefined,
    read: { whole: undefined, single: undefined, members: [] },
  };
}

const reset_headers = ['x-ratelimit-reset', 'ratelimit-reset', 'x-rate-limit-reset'];

/**
 * Returns how long the other side asks to wait, in the form of Retry-After. With 429, many name the
 * end of the present window instead: as seconds from now, or since 1970.
 */
export function retryAfterOf(status: number, headers: [string, string][]): string | undefined {
  const valueOf = (wanted: string) => headers.find(([name]) => name.toLowerCase() === wanted)?.[1];
  const asked = valueOf('retry-after');
  if (asked !== undefined || status !== 429) return asked;
  const reset = reset_headers.map(valueOf).find((value) => value !== undefined);
  const number = Number(reset ?? '');
  if (reset === undefined || reset.trim() === '' || !Number.isFinite(number)) return reset;
  if (number < 1e9) return String(Math.ceil(number));
  return new Date(number < 1e11 ? number * 1_000 : number).toUTCString();
}

type SentRequest = {
  url: string;
  method: string;
  headers: Iterable<[string, string]>;
  body: Buffer;
};

/** Returns the request in the server's form: credentials of the URL become a header. */
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

/** Records a refusal of the server: a tool may mistake its error for the other side's. */
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
 * All requests of the library use the `fetch` of one package, whose classes it also compares. The
 * platform's own `fetch` is replaced too.
 */
function replaceFetch(require: NodeJS.Require, fetchBytes: FetchBytes): void {
  const core = createRequire(require.resolve('@segment/actions-core'));
  const path = core.resolve('cross-fetch');
  const { Request: OldRequest, Response: OldResponse, Headers } = core(path) as CrossFetch;
  const fetchOld = async (input: unknown, init?: unknown) => {
    const request = new OldRequest(input, init);
    const { url, method, headers } = request;
    const answer = await fetchBytes({ url, method, headers, body: await request.buffer() });
    // A body of bytes can be read twice. A stream would stall at the first large answer.
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
