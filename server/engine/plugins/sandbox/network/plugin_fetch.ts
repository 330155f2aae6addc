import { Type } from 'typebox';
import type { Static } from 'typebox';
import { portFault } from '../../../../platform/outbound/blocked_ports.ts';
import { isRedirect, redirectTarget } from '../../../../platform/outbound/guarded_fetch.ts';
import { OutboundRefused } from '../../../../platform/outbound/outbound_faults.ts';
import type { Outbound } from '../../../../platform/outbound/outbound.ts';
import { readBounded } from '../../../../platform/read_bounded.ts';

/** Thrown for a host that the plugin's settings do not allow. */
export class HostNotAllowed extends OutboundRefused {
  readonly hostname: string;
  constructor({ host, hostname }: URL) {
    super(`The plugin may not reach ${host}: add it to the allowed hosts of the plugin.`);
    this.hostname = hostname;
  }
}

/** Thrown if no host of this name exists, according to the name servers. */
export class HostNotFound extends Error {
  readonly hostname: string;
  constructor(hostname: string, cause: unknown) {
    super(`There is no host ${hostname}.`, { cause });
    this.hostname = hostname;
  }
}

const bytes_max = 5 * 1024 * 1024;
const base64_length_max = Math.ceil(bytes_max / 3) * 4;
const fetch_milliseconds_max = 10_000;
const redirects_max = 5;
const header_length_max = 32_768;

const text = (maxLength: number) => Type.String({ maxLength });

/** A plugin's request to fetch; `body` is base64. */
export const PluginRequest = Type.Object({
  url: text(8_192),
  method: Type.String({ pattern: '^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$' }),
  headers: Type.Array(Type.Tuple([text(200), text(header_length_max)]), { maxItems: 100 }),
  body: Type.Union([text(base64_length_max), Type.Null()]),
});

/** A plugin's request to fetch; `body` is base64. */
export type PluginRequest = Static<typeof PluginRequest>;

/** The answer of the other side; `body` is base64. */
export type PluginResponse = {
  url: string;
  status: number;
  status_text: string;
  headers: [string, string][];
  body: string;
};

// Only the client writes these: otherwise they could split a request in two or reach another host
// behind a proxy.
const reserved_headers =
  /^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|keep-alive|expect|proxy-.*|sec-.*)$/i;

/**
 * Fetches for a plugin: http and https, at most 5 MiB in each direction, within 10 s. It reaches
 * hosts that `allowed_hosts` names and that the server's guard allows, on every port. A name is
 * `example.com`, or `*.example.com` for every name below it. It follows a redirect of GET or HEAD
 * if its target meets the same rules, but none from https to http; any other redirect is the
 * answer. Throws an OutboundRefused for a forbidden host, a RangeError above the size limit, a
 * HostNotFound, and the client's error for any other network fault.
 */
export async function fetchForPlugin(
  outbound: Pick<Outbound, 'fetch'>,
  allowed_hosts: string[],
  request: PluginRequest,
  signal: AbortSignal,
): Promise<PluginResponse> {
  const ending = AbortSignal.any([signal, AbortSignal.timeout(fetch_milliseconds_max)]);
  let url = requireFetchable(request.url, allowed_hosts);
  let headers = checkHeaders(request.headers);
  const body =
    request.body === null || request.method === 'GET' || request.method === 'HEAD'
      ? null
      : Buffer.from(request.body, 'base64');
  for (let hops = 0; hops <= redirects_max; hops += 1) {
    const response = await outbound
      .fetch(url, { method: request.method, headers, body, redirect: 'manual', signal: ending })
      .catch((error: Error) => {
        const { code } = (error.cause ?? {}) as { code?: unknown };
        throw code === 'ENOTFOUND' ? new HostNotFound(url.hostname, error.cause) : error;
      });
    if (!isRedirect(response) || body !== null || !['GET', 'HEAD'].includes(request.method))
      return readResponse(url, response);
    await response.body?.cancel();
    const next = requireFetchable(redirectTarget(url, response).href, allowed_hosts);
    if (next.origin !== url.origin)
      headers = headers.filter(([name]) => !/^(authorization|cookie)$/i.test(name));
    url = next;
  }
  throw new OutboundRefused(`${url.host} redirects more than ${redirects_max} times.`);
}

/**
 * Returns the URL if a plugin with these hosts may connect to its host; otherwise throws an
 * OutboundRefused.
 */
export function requireAllowed(text: string, allowed_hosts: string[]): URL {
  const url = URL.parse(text);
  if (url === null) throw new OutboundRefused('The URL cannot be read.');
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new OutboundRefused(`Only http and https addresses can be fetched, not ${url.protocol}`);
  if (url.username !== '' || url.password !== '')
    throw new OutboundRefused(
      'Put user and password into an authorization header, not into the URL.',
    );
  if (!allowed_hosts.some((allowed) => isAllowed(url, allowed.toLowerCase())))
    throw new HostNotAllowed(url);
  return url;
}

/** Does the same for a request, for which some ports are forbidden. */
export function requireFetchable(text: string, allowed_hosts: string[]): URL {
  const url = requireAllowed(text, allowed_hosts);
  const blocked = portFault(url);
  if (blocked !== undefined) throw new OutboundRefused(blocked);
  return url;
}

function isAllowed({ hostname }: URL, allowed: string): boolean {
  return allowed.startsWith('*.') ? hostname.endsWith(allowed.slice(1)) : allowed === hostname;
}

function checkHeaders(headers: [string, string][]): [string, string][] {
  const reserved = headers.find(([name]) => reserved_headers.test(name));
  if (reserved !== undefined)
    throw new OutboundRefused(`The header ${reserved[0]} cannot be set: the client writes it.`);
  return headers;
}

async function readResponse(
  url: URL,
  response: Awaited<ReturnType<Outbound['fetch']>>,
): Promise<PluginResponse> {
  const said = `The answer of ${url.host} has more than ${bytes_max / 1024 / 1024} MiB.`;
  const body = await readBounded(response.body ?? [], bytes_max, () => new RangeError(said));
  return {
    url: url.href,
    status: response.status,
    status_text: response.statusText,
    headers: [...response.headers],
    body: body.toString('base64'),
  };
}
