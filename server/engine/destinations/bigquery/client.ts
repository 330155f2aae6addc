import type { common } from '@google-cloud/bigquery';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import { stopError, throwIfStopped } from '../../model/destination/stop.ts';
import { googleBody, googleRetries, guardedFetch } from '../object_store/google_request.ts';
import { request_timeout_milliseconds } from '../object_store/object_store.ts';
import { api_origin, privateKeyOf } from './config.ts';
import type { BigQueryConfig } from './config.ts';

/**
 * One request to Google; `path` holds the query, or is the whole address of an upload. `body` is
 * sent as it is.
 */
export type GoogleRequest = {
  method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  path: string;
  headers?: Record<string, string>;
  body?: Buffer | string;
  /** Bounds one try; two minutes when absent. */
  timeout_milliseconds?: number;
  /** Number of tries before the fault is thrown; three by default. */
  tries?: number;
  /** Counts instead of the client's, for what has to be tidied up after a stop. */
  signal?: AbortSignal;
};

/** Google's answer, with a status of 200 to 299, or 308 for an upload that continues. */
export type GoogleAnswer = { status: number; text: string; headers: Headers };

/**
 * Sends requests as the service account of a config. Throws faults as the library's own errors; an
 * aborted signal ends every request at once.
 */
export type GoogleClient = {
  signal: AbortSignal;
  send(request: GoogleRequest): Promise<GoogleAnswer>;
  /** Sends `body` as JSON and reads the answer as JSON. */
  json<Data>(
    method: GoogleRequest['method'],
    path: string,
    body?: unknown,
    signal?: AbortSignal,
  ): Promise<Data>;
};

/** The address that the library always asks for a token. */
const library_token_url = 'https://oauth2.googleapis.com/token';

type Service = InstanceType<typeof common.Service>;

/**
 * Opens a client of the official library. It signs in and sends, over the outbound guard; the
 * library's own calls for tables and jobs are not used, because they open connections past any
 * guard and cannot be stopped. Nothing is sent yet: the token is asked for at `token_uri` when the
 * first request needs it, and kept while it is valid.
 */
export async function openGoogleClient(
  config: BigQueryConfig,
  deps: Pick<DestinationDeps, 'outbound' | 'signal' | 'noteProgress'>,
): Promise<GoogleClient> {
  const { outbound, signal } = deps;
  throwIfStopped(signal);
  const { authClient } = await openService(
    config,
    guardedFetch(outbound, signal, (url) => (url === library_token_url ? config.token_uri : url)),
  );
  const send: GoogleClient['send'] = async (request) => {
    const stop = request.signal ?? signal;
    try {
      const { status, data, headers } = await authClient.request<string>(
        requestOptions(request, stop),
      );
      // Being told that a job is still at work is no progress.
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

/**
 * The library's service, which holds what signs in. Its own class for BigQuery has no way for a
 * `fetch`.
 */
async function openService(config: BigQueryConfig, fetchImplementation: unknown): Promise<Service> {
  const {
    common: { Service },
  } = await import('@google-cloud/bigquery');
  const service = new Service(
    {
      apiEndpoint: api_origin,
      baseUrl: `${api_origin}/bigquery/v2`,
      scopes: ['https://www.googleapis.com/auth/bigquery'],
      packageJson: { name: '@google-cloud/bigquery', version: '9.3.0' },
      // Passed on to the library for signing in, though its types do not say so. The claim names
      // the service that the token is asked of.
      clientOptions: {
        additionalClaims: { aud: config.token_uri },
        transporterOptions: { fetchImplementation },
      },
    } as unknown as ConstructorParameters<typeof Service>[0],
    { projectId: config.project_id },
  );
  // Set here: as an option of the service the library would write a line to standard error for
  // each.
  service.authClient.jsonContent = {
    type: 'service_account',
    project_id: config.project_id,
    private_key_id: config.private_key_id,
    private_key: privateKeyOf(config),
    client_email: config.client_email,
  };
  return service;
}

function requestOptions(
  request: GoogleRequest,
  signal: AbortSignal,
): Parameters<Service['authClient']['request']>[0] {
  return {
    url: request.path.startsWith('https://') ? request.path : `${api_origin}${request.path}`,
    method: request.method,
    headers: request.headers ?? {},
    data: googleBody(request.body),
    signal,
    responseType: 'text',
    timeout: request.timeout_milliseconds ?? request_timeout_milliseconds,
    validateStatus: (status: number) => (status >= 200 && status < 300) || status === 308,
    retryConfig: googleRetries(request.method, request.tries),
  };
}
