import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { request_attempts_max, request_timeout_milliseconds } from './object_store.ts';

/** The options of the guard's `fetch`. */
type FetchOptions = NonNullable<Parameters<Outbound['fetch']>[1]>;

/**
 * A `fetch` for Google's libraries, as far as they use it: every request passes the outbound guard,
 * is bounded in time, and ends with the signal. `addressOf` may send a request elsewhere than the
 * library would.
 */
export function guardedFetch(
  outbound: Outbound,
  signal: AbortSignal,
  addressOf: (url: string) => string = (url) => url,
) {
  return (
    url: string | URL,
    init?: { method?: string; headers?: Headers; body?: unknown; signal?: AbortSignal },
  ) =>
    outbound.fetch(addressOf(String(url)), {
      method: init?.method ?? 'GET',
      headers: [...(init?.headers ?? [])] as FetchOptions['headers'],
      body: (init?.body instanceof ArrayBuffer
        ? new Uint8Array(init.body)
        : (init?.body ?? null)) as FetchOptions['body'],
      signal:
        init?.signal ??
        AbortSignal.any([signal, AbortSignal.timeout(request_timeout_milliseconds)]),
    });
}

/**
 * A body as Google's library is given it. Not as a Buffer: of a request that fails it looks at
 * every byte of one, several times.
 */
export function googleBody(body: Buffer | string | undefined): ArrayBuffer | string | undefined {
  return typeof body === 'string' || body === undefined ? body : new Uint8Array(body).buffer;
}

/** Returns the number of tries of a request in the library, and the faults that cause a retry. */
export function googleRetries(method: string, tries: number = request_attempts_max) {
  return {
    retry: tries - 1,
    noResponseRetries: tries - 1,
    httpMethodsToRetry: [method],
    statusCodesToRetry: [
      [408, 408],
      [429, 429],
      [500, 599],
    ],
  };
}
