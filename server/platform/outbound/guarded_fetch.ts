import { Headers, fetch as undiciFetch } from 'undici';
import type { Dispatcher, RequestInit, Response } from 'undici';
import { portFault } from './blocked_ports.ts';
import { OutboundRefused, ProxyFault } from './outbound_faults.ts';

const redirects_max = 5;
const redirect_statuses = new Set([301, 302, 303, 307, 308]);

/**
 * Works like the standard's `fetch` with a guarded dispatcher, only for http and https. Follows at
 * most 5 redirects, none from https to http; credentials are not sent to another origin.
 */
export async function fetchGuarded(
  start: URL,
  init: RequestInit,
  dispatcher: Dispatcher,
): Promise<Response> {
  let url = start;
  let request: RequestInit = { ...init, dispatcher, redirect: 'manual' };
  for (let hops = 0; hops <= redirects_max; hops += 1) {
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw new OutboundRefused(
        `Only http and https addresses can be fetched, not ${url.protocol}//.`,
      );
    const blocked = portFault(url);
    if (blocked !== undefined) throw new OutboundRefused(blocked);
    const response = await send(url, request);
    if (!isRedirect(response) || init.redirect === 'manual') return response;
    await response.body?.cancel();
    if (init.redirect === 'error')
      throw new OutboundRefused(`${url.host} answered with a redirect.`);
    const next = redirectTarget(url, response);
    request = redirected(request, response.status, url.origin === next.origin);
    url = next;
  }
  throw new OutboundRefused(`${start.host} redirects more than ${redirects_max} times.`);
}

/** Returns true for a redirect by the rules of the Fetch standard. */
export function isRedirect({ status, headers }: Pick<Response, 'status' | 'headers'>): boolean {
  return redirect_statuses.has(status) && headers.has('location');
}

/**
 * Returns the target of a redirect of `url`. Throws an OutboundRefused for an invalid URL, and for
 * a redirect from https to http.
 */
export function redirectTarget(url: URL, { headers }: Pick<Response, 'headers'>): URL {
  const next = URL.parse(headers.get('location') ?? '', url.href);
  if (next === null)
    throw new OutboundRefused(`${url.host} redirects to an address that cannot be read.`);
  if (url.protocol === 'https:' && next.protocol === 'http:')
    throw new OutboundRefused(
      `${url.host} redirects from https to http, where anybody could change the answer.`,
    );
  return next;
}

/** undici hides refusals and faults of the proxy in the cause of a `TypeError: fetch failed`. */
async function send(url: URL, request: RequestInit): Promise<Response> {
  try {
    return await undiciFetch(url, uncopied(request));
  } catch (error) {
    const { cause } = error as Error;
    throw cause instanceof OutboundRefused || cause instanceof ProxyFault ? cause : error;
  }
}

/**
 * Returns the request with its bytes as a stream of known length: as bytes, they would be copied
 * three times.
 */
function uncopied(request: RequestInit): RequestInit {
  const { body } = request;
  if (!(body instanceof Uint8Array)) return request;
  const headers = new Headers(request.headers);
  headers.set('content-length', String(body.length));
  const stream = new ReadableStream({
    start: (controller) => {
      if (body.length > 0) controller.enqueue(body);
      controller.close();
    },
  });
  return { ...request, headers: [...headers], body: stream, duplex: 'half' };
}

/**
 * Returns the request after a redirect, by the rules of the Fetch standard: 303, and POST on 301 or
 * 302, become GET.
 */
function redirected(request: RequestInit, status: number, sameOrigin: boolean): RequestInit {
  const headers = new Headers(request.headers);
  const method = (request.method ?? 'GET').toUpperCase();
  const becomesGet =
    (status === 303 && method !== 'HEAD') ||
    ((status === 301 || status === 302) && method === 'POST');
  if (
    !becomesGet &&
    request.body !== undefined &&
    request.body !== null &&
    typeof request.body !== 'string' &&
    !(request.body instanceof Uint8Array)
  ) {
    throw new OutboundRefused(
      'The request has a streamed body and was redirected; it cannot be sent again.',
    );
  }
  if (becomesGet)
    for (const name of ['content-type', 'content-length', 'content-encoding', 'content-language'])
      headers.delete(name);
  if (!sameOrigin)
    for (const name of ['authorization', 'cookie', 'proxy-authorization']) headers.delete(name);
  const kept = { ...request, headers: [...headers] };
  return becomesGet ? { ...kept, method: 'GET', body: null } : kept;
}
