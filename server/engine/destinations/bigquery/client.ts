import type { DestinationDeps } from '../../model/destination/destination.ts';
import { stopError, throwIfStopped } from '../../model/destination/stop.ts';
import { openGoogleSender } from '../object_store/google_request.ts';
import type { GoogleRequest } from '../object_store/google_request.ts';
import { api_origin, privateKeyOf } from './config.ts';
import type { BigQueryConfig } from './config.ts';

/**
 * One request to Google; `path` contains the query, or is the whole URL of an upload. `signal`
 * replaces the client's, for clean-up after a stop.
 */
type ClientRequest = Omit<GoogleRequest, 'url' | 'signal' | 'validateStatus'> & {
  path: string;
  signal?: AbortSignal;
};

/** Google's answer, with a status of 200 to 299, or 308 for an upload that continues. */
export type GoogleAnswer = { status: number; text: string; headers: Headers };

/**
 * Sends requests as the service account of a config. Throws the library's own errors; aborting the
 * signal ends every request at once.
 */
export type GoogleClient = {
  signal: AbortSignal;
  send(request: ClientRequest): Promise<GoogleAnswer>;
  /** Sends `body` as JSON and reads the answer as JSON. */
  json<Data>(
    method: GoogleRequest['method'],
    path: string,
    body?: unknown,
    signal?: AbortSignal,
  ): Promise<Data>;
};

/** Opens a client. It sends nothing yet, and requests tokens at `token_uri`. */
export async function openGoogleClient(
  config: BigQueryConfig,
  deps: Pick<DestinationDeps, 'outbound' | 'signal' | 'noteProgress'>,
): Promise<GoogleClient> {
  const { outbound, signal } = deps;
  throwIfStopped(signal);
  const account = { ...config, private_key: privateKeyOf(config) };
  const scopes = ['https://www.googleapis.com/auth/bigquery'];
  const sendText = await openGoogleSender(account, scopes, outbound, signal);
  const send: GoogleClient['send'] = async ({ path, ...request }) => {
    const stop = request.signal ?? signal;
    const url = path.startsWith('https://') ? path : `${api_origin}${path}`;
    try {
      const { status, data, headers } = await sendText<string>(
        { ...request, url, signal: stop, validateStatus: isTaken },
        'text',
      );
      // An answer that a job is still running is no progress.
      if (request.method !== 'GET') deps.noteProgress?.();
      return { status, text: data, headers };
    } catch (error) {
      throw stop.aborted ? stopError(stop) : error;
    }
  };
  return {
    signal,
    send,
    json: async <Data>(
      method: GoogleRequest['method'],
      path: string,
      body?: unknown,
      own?: AbortSignal,
    ) => {
      const content =
        body === undefined
          ? {}
          : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
      const { text } = await send({
        method,
        path,
        ...content,
        ...(own === undefined ? {} : { signal: own }),
      });
      return (text === '' ? {} : JSON.parse(text)) as Data;
    },
  };
}

function isTaken(status: number): boolean {
  return (status >= 200 && status < 300) || status === 308;
}
