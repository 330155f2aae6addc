import { Readable } from 'node:stream';
import type { StorageOptions } from '@google-cloud/storage';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { googleBody, googleRetries, guardedFetch } from '../object_store/google_request.ts';
import { request_timeout_milliseconds } from '../object_store/object_store.ts';
import type { ServiceAccount } from './config.ts';

/** One request to Google; `path` holds the query. `bytes` is sent as it is. */
export type GoogleRequest = {
  method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  path: string;
  headers?: Record<string, string>;
  bytes?: Buffer | string;
  signal: AbortSignal;
  /** Bounds one try; two minutes when absent. */
  timeout_milliseconds?: number;
};

/**
 * Sends requests as a service account. Every request is tried three times; what still fails is
 * thrown as the library's own error.
 */
export type GoogleClient = {
  /** The answer's text, and its headers. */
  text(request: GoogleRequest): Promise<{ text: string; headers: Headers }>;
  /**
   * The answer's bytes as they come. Ends with the signal; the time is bounded only while nothing
   * comes.
   */
  stream(request: GoogleRequest): Promise<Readable>;
};

/**
 * Opens a client of the official library. It signs in and sends, over the outbound guard; the
 * library's own calls are not used, because they open connections past any guard and cannot be
 * stopped. The token is asked for when the first request needs it, and kept while it is valid;
 * `signal` ends that too.
 */
export async function openGoogleClient(
  endpoint: string,
  account: ServiceAccount,
  outbound: Outbound,
  signal: AbortSignal,
): Promise<GoogleClient> {
  const { Storage } = await import('@google-cloud/storage');
  const { authClient } = new Storage({
    credentials: account,
    // The types ask for the global fetch, of which the library uses no more than this.
    clientOptions: {
      transporterOptions: { fetchImplementation: guardedFetch(outbound, signal) },
    } as unknown as StorageOptions['clientOptions'],
  });
  const send = <Data>(request: GoogleRequest, responseType: 'text' | 'stream') =>
    authClient.request<Data>({
      url: `${endpoint}${request.path}`,
      method: request.method,
      headers: request.headers ?? {},
      data: googleBody(request.bytes),
      signal: request.signal,
      responseType,
      ...(responseType === 'stream'
        ? {}
        : { timeout: request.timeout_milliseconds ?? request_timeout_milliseconds }),
      retryConfig: googleRetries(request.method),
    });
  return {
    text: async (request) => {
      const { data, headers } = await send<string>(request, 'text');
      return { text: data, headers };
    },
    stream: async (request) =>
      Readable.fromWeb(
        (await send<Parameters<typeof Readable.fromWeb>[0]>(request, 'stream')).data,
      ),
  };
}
