import { fromBinary, toBinary, Buffer } from './bytes.ts';
import type { BytesLike } from './bytes.ts';
import { fromText } from './bridge.ts';
import { request } from './requests.ts';
import type { URL } from './url.ts';
import { URLSearchParams } from './url_search.ts';
import type { PluginResponse } from '../network/plugin_fetch.ts';

type HeaderSource = Headers | Iterable<[string, string]> | Record<string, unknown> | undefined;
type Options = {
  method?: unknown;
  headers?: HeaderSource;
  body?: BytesLike | URLSearchParams | null;
};

/** The standard's Headers, with names in lower case. */
export class Headers {
  #values: Record<string, string> = Object.create(null) as Record<string, string>;

  constructor(source?: HeaderSource) {
    const pairs =
      source === undefined
        ? []
        : Symbol.iterator in source
          ? [...(source as Iterable<[string, string]>)]
          : Object.entries(source);
    for (const [name, value] of pairs) this.append(name, value);
  }

  append(name: unknown, value: unknown): void {
    const key = String(name).toLowerCase();
    this.#values[key] =
      key in this.#values ? `${this.#values[key]}, ${String(value)}` : String(value);
  }
  delete(name: string): void {
    delete this.#values[name.toLowerCase()];
  }
  get(name: string): string | null {
    return this.#values[name.toLowerCase()] ?? null;
  }
  has(name: string): boolean {
    return name.toLowerCase() in this.#values;
  }
  set(name: string, value: unknown): void {
    this.#values[name.toLowerCase()] = String(value);
  }
  forEach(callback: (value: string, name: string) => void): void {
    for (const [name, value] of this.entries()) callback(value, name);
  }
  entries(): IterableIterator<[string, string]> {
    return Object.entries(this.#values).values();
  }
  keys(): IterableIterator<string> {
    return Object.keys(this.#values).values();
  }
  values(): IterableIterator<string> {
    return Object.values(this.#values).values();
  }
  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }
}

/**
 * The result of `fetch`: the standard's Response, complete; its body may be read more than once.
 */
export class Response {
  readonly url: string;
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly ok: boolean;
  readonly #bytes: Buffer;

  constructor(answer: PluginResponse) {
    this.url = answer.url;
    this.status = answer.status;
    this.statusText = answer.status_text;
    this.headers = new Headers(answer.headers);
    this.ok = answer.status >= 200 && answer.status < 300;
    this.#bytes = Buffer.from(answer.body, 'base64');
  }

  async text(): Promise<string> {
    return this.#bytes.toString();
  }
  async json(): Promise<unknown> {
    return fromText(this.#bytes.toString());
  }
  async arrayBuffer(): Promise<ArrayBuffer> {
    return new Uint8Array(this.#bytes).buffer;
  }
  async buffer(): Promise<Buffer> {
    return this.#bytes;
  }
}

/**
 * The standard's `fetch`, performed and guarded by the server; `fetchForPlugin` lists its limits.
 */
export async function fetch(target: string | URL, options: Options = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  const form = options.body instanceof URLSearchParams ? options.body : undefined;
  if (form !== undefined && !headers.has('content-type'))
    headers.set('content-type', 'application/x-www-form-urlencoded;charset=UTF-8');
  const body = form?.toString() ?? (options.body as BytesLike | null | undefined);
  const wire = {
    url: String(target),
    method: (typeof options.method === 'string' ? options.method : 'GET').toUpperCase(),
    headers: [...headers.entries()],
    body:
      body === undefined || body === null ? null : fromBinary(toBinary(body)).toString('base64'),
  };
  return new Response((await request('fetch', [wire])) as PluginResponse);
}
