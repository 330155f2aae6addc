import { Readable } from 'node:stream';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { openGoogleSender } from '../object_store/google_request.ts';
import type { GoogleRequest } from '../object_store/google_request.ts';
import type { ServiceAccount } from './config.ts';

/** One request to the store; `path` contains the query. */
type StoreRequest = Omit<GoogleRequest, 'url' | 'tries' | 'validateStatus'> & { path: string };

/**
 * Sends requests as a service account. Every request is tried three times; the last failure is
 * thrown as the library's own error.
 */
export type GoogleClient = {
  /** Returns the answer's text, and its headers. */
  text(request: StoreRequest): Promise<{ text: string; headers: Headers }>;
  /** Streams the answer's bytes. Ends with the signal; only the time without bytes is bounded. */
  stream(request: StoreRequest): Promise<Readable>;
};

/** Opens a client of the store at the endpoint. */
export async function openGoogleClient(
  endpoint: string,
  account: ServiceAccount,
  outbound: Outbound,
  signal: AbortSignal,
): Promise<GoogleClient> {
  const scopes = ['https://www.googleapis.com/auth/devstorage.full_control'];
  const send = await openGoogleSender(account, scopes, outbound, signal);
  const located = ({ path, ...request }: StoreRequest) => ({
    ...request,
    url: `${endpoint}${path}`,
  });
  return {
    text: async (request) => {
      const { data, headers } = await send<string>(located(request), 'text');
      return { text: data, headers };
    },
    stream: async (request) => {
      const { data } = await send<Parameters<typeof Readable.fromWeb>[0]>(
        located(request),
        'stream',
      );
      return Readable.fromWeb(data);
    },
  };
}
