import { Headers, fetch } from './fetch.ts';
import type { Response } from './fetch.ts';
import { URL } from './url.ts';

type Options = {
  data?: Record<string, unknown>;
  host?: string;
  headers?: Record<string, unknown>;
  projectApiKey?: string;
  personalApiKey?: string;
};

type Send = (path: string, options?: Options) => Promise<Response>;

let home = '';

/** Sets the host of requests that name none. */
export function setHome(public_url: string): void {
  home = public_url;
}

/**
 * Requests to an API of this kind, by `fetch` and under its rules: the host must be allowed. The
 * default `host` is this server. `data` is the query of GET and DELETE, and the JSON body of the
 * others. The platform provides no key: `personalApiKey` (or an authorization header) and
 * `projectApiKey` come from the plugin's config.
 */
export const api: Record<'get' | 'post' | 'put' | 'patch' | 'delete', Send> = {
  get: (path, options) => send('GET', path, options),
  post: (path, options) => send('POST', path, options),
  put: (path, options) => send('PUT', path, options),
  patch: (path, options) => send('PATCH', path, options),
  delete: (path, options) => send('DELETE', path, options),
};

async function send(method: string, path: string, options: Options = {}): Promise<Response> {
  const { data = {}, host = home, projectApiKey, personalApiKey } = options;
  const headers = new Headers(options.headers);
  if (personalApiKey !== undefined) headers.set('authorization', `Bearer ${personalApiKey}`);
  if (projectApiKey === undefined && !headers.has('authorization'))
    throw new Error(
      'Pass personalApiKey to api, from a secret field of the config: the platform gives it no ' +
        'key.',
    );
  const url = new URL(`${host.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`);
  const inQuery = method === 'GET' || method === 'DELETE';
  const query = url.searchParams;
  if (inQuery) for (const [name, value] of Object.entries(data)) query.append(name, String(value));
  if (projectApiKey !== undefined) query.append('token', projectApiKey);
  if (inQuery) return fetch(url, { method, headers });
  if (!headers.has('content-type')) headers.set('content-type', 'application/json');
  return fetch(url, { method, headers, body: JSON.stringify(data) });
}
