import type { JWTOptions } from 'google-auth-library';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { request_attempts_max, request_timeout_milliseconds } from './object_store.ts';

/** A service account, its private key in PEM, and where it asks for tokens, if not at Google. */
export type GoogleAccount = {
  client_email: string;
  private_key: string;
  private_key_id?: string;
  token_uri?: string;
};

/** One request to Google. `body` is sent as it is. */
export type GoogleRequest = {
  method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  url: string;
  headers?: Record<string, string>;
  body?: Buffer | string;
  signal: AbortSignal;
  /** Bounds one try; two minutes when absent. */
  timeout_milliseconds?: number;
  /** Number of tries before the fault is thrown; three by default. */
  tries?: number;
  /** Statuses that are an answer; 200 to 299 by default. */
  validateStatus?: (status: number) => boolean;
};

/** Google's answer. */
export type GoogleAnswer<Data> = { status: number; data: Data; headers: Headers };

/**
 * Sends a request as an account. After the last try it throws the library's own error. The time of
 * a `stream` is bounded only while nothing comes.
 */
export type GoogleSender = <Data>(
  request: GoogleRequest,
  responseType: 'text' | 'stream',
) => Promise<GoogleAnswer<Data>>;

/**
 * Opens a sender of the official library, which signs in over the outbound guard. The token is
 * asked for when the first request needs it, and kept while it is valid; `signal` ends that too.
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
    // The claim names the service that the token is asked of.
    additionalClaims: { aud: token_uri },
    // The types ask for the global fetch, of which the library uses no more than this.
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

/** The address that the library always asks for a token. */
const library_token_uri = 'https://oauth2.googleapis.com/token';

/** The options of the guard's `fetch`. */
type FetchOptions = NonNullable<Parameters<Outbound['fetch']>[1]>;

/**
 * A `fetch` for Google's library, as far as it uses one: every request passes the outbound guard,
 * is bounded in time, and ends with the signal. Tokens are asked for at `token_uri`.
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
 * A body as Google's library is given it. Not as a Buffer: of a request that fails it looks at
 * every byte of one, several times.
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
