import type { JWTOptions } from 'google-auth-library';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { request_attempts_max, request_timeout_milliseconds } from './object_store.ts';

/** A service account, its private key in PEM, and its token endpoint if it is not Google's. */
export type GoogleAccount = {
  client_email: string;
  private_key: string;
  private_key_id?: string;
  token_uri?: string;
};

/** One request to Google. `body` is sent unchanged. */
export type GoogleRequest = {
  method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  url: string;
  headers?: Record<string, string>;
  body?: Buffer | string;
  signal: AbortSignal;
  /** Limit of one try; by default two minutes. */
  timeout_milliseconds?: number;
  /** Number of tries before the fault is thrown; three by default. */
  tries?: number;
  /** Returns true for statuses that are an answer; by default 200 to 299. */
  validateStatus?: (status: number) => boolean;
};

/** Google's answer. */
export type GoogleAnswer<Data> = { status: number; data: Data; headers: Headers };

/**
 * Sends a request as an account. After the last try, it throws the library's own error. For a
 * `stream`, only the time without bytes is bounded.
 */
export type GoogleSender = <Data>(
  request: GoogleRequest,
  responseType: 'text' | 'stream',
) => Promise<GoogleAnswer<Data>>;

/**
 * Opens a sender of the official library, which authenticates through the outbound guard. The token
 * is requested with the first request, and reused while it is valid; `signal` ends that too.
 */
export async function openGoogleSender(
  { client_email, private_key, private_key_id, token_uri = library_token_uri }: GoogleAccount,
  scopes: string[],
  outbound: Outbound,
  signal: AbortSignal,
): Promise<GoogleSender> {
  const { JWT } = await import('google-auth-library');
  const client = new JWT({
    email: client_email,
    key: private_key,
    ...(private_key_id === undefined ? {} : { keyId: private_key_id }),
    scopes,
    // The claim names the token service.
    additionalClaims: { aud: token_uri },
    // The types require the global fetch, of which the library only uses this.
    transporterOptions: {
      fetchImplementation: guardedFetch(outbound, signal, token_uri),
    } as unknown as JWTOptions['transporterOptions'],
  });
  return ({ method, body, tries, timeout_milliseconds, ...request }, responseType) =>
    client.request({
      ...request,
      method,
      data: dataOf(body),
      responseType,
      ...(responseType === 'stream'
        ? {}
        : { timeout: timeout_milliseconds ?? request_timeout_milliseconds }),
      retryConfig: retriesOf(method, tries),
    });
}

/** The URL from which the library always requests a token. */
const library_token_uri = 'https://oauth2.googleapis.com/token';

/** The options of the guard's `fetch`. */
type FetchOptions = NonNullable<Parameters<Outbound['fetch']>[1]>;

/**
 * Returns a `fetch` for Google's library, as far as it needs one: every request passes the outbound
 * guard, has a time limit, and ends with the signal. Tokens are requested at `token_uri`.
 */
function guardedFetch(outbound: Outbound, signal: AbortSignal, token_uri: string) {
  return (
    url: string | URL,
    init?: { method?: string; headers?: Headers; body?: unknown; signal?: AbortSignal },
  ) =>
    outbound.fetch(String(url) === library_token_uri ? token_uri : String(url), {
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
 * Returns a body for Google's library. Not as a Buffer: after a failed request, it checks every
 * byte of one, several times.
 */
function dataOf(body: Buffer | string | undefined): ArrayBuffer | string | undefined {
  return typeof body === 'string' || body === undefined ? body : new Uint8Array(body).buffer;
}

/** Returns the number of tries of a request in the library, and the faults that cause a retry. */
function retriesOf(method: string, tries: number = request_attempts_max) {
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
