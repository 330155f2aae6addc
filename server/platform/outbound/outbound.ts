import { lookup as dnsLookup } from 'node:dns/promises';
import http from 'node:http';
import https from 'node:https';
import { Socket, isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { Agent, Headers, buildConnector, fetch as undiciFetch } from 'undici';
import type { RequestInit, Response } from 'undici';

/** An address that the guard has let through, and its family (4 or 6). */
export type OutboundAddress = { address: string; family: number };

/**
 * The guard in front of every connection that leaves the server. Guarantee of each member: a
 * connection is made only to a globally reachable address or to one that the operator allowed, and
 * to the very address that was checked, so that a name cannot be pointed elsewhere in between.
 */
export type Outbound = {
  /**
   * The pinned address for a host name or a literal address. Throws `OutboundRefused`, or the
   * resolver's error when the name is unknown.
   */
  resolveHost(host: string): Promise<OutboundAddress>;
  /** Throws `OutboundRefused` for a literal address that is refused; of a name it asks nothing. */
  checkLiteral(host: string): void;
  /**
   * Replaces `dns.lookup` in the options of `net`, `tls`, `http`. Node does not call it for literal
   * addresses: use `agents` or `resolveHost` where users write the host.
   */
  lookup: LookupFunction;
  /** Agents for libraries built on `node:http`; literal addresses are checked too. */
  agents: { http: http.Agent; https: https.Agent };
  /**
   * As the standard's `fetch`, for http and https only; follows at most 5 redirects, each one
   * checked, none from https to http; credentials do not cross to another origin. A body of bytes
   * is sent as it is, without copies: whoever gives it leaves it alone until the answer has come.
   */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  /** Closes idle connections. */
  close(): Promise<void>;
};

/**
 * Thrown instead of connecting to an address that is not globally reachable. Another attempt does
 * not help.
 */
export class OutboundRefused extends Error {
  readonly code = 'outbound_refused';
  constructor(message: string) {
    super(message);
    this.name = 'OutboundRefused';
  }
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Check = (host: string, address: string) => void;

const redirects_max = 5;
const redirect_statuses = new Set([301, 302, 303, 307, 308]);
const connect_timeout_milliseconds = 10_000;
const agent_options = { keepAlive: true, maxSockets: 64, timeout: 120_000 };
// All of today's global IPv6 addresses (RFC 4291, IANA): ipaddr.js calls some outside it unicast as
// well, such as the old ::127.0.0.1.
const global_ipv6 = ipaddr.parseCIDR('2000::/3');
// Behind the number of any network, an IPv4 address to which a host that speaks ISATAP wraps the
// packets (RFC 5214).
const isatap = (address: ipaddr.IPv6) =>
  (address.parts[4]! & ~0x0200) === 0 && address.parts[5] === 0x5efe;
// Public by its number, but answered by the host of each virtual machine of Azure: its metadata.
const azure_host = '168.63.129.16';

/**
 * Opens the guard. `allow` holds addresses and CIDR ranges that may be reached although they are
 * not globally reachable (SLUICE_OUTBOUND_ALLOW).
 */
export function openOutbound(options: { allow: string[] }): Outbound {
  const allowed = options.allow.map(parseRange);
  const check: Check = (host, address) => {
    const parsed = unwrap(ipaddr.parse(address));
    if (
      allowed.some(
        ([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits),
      )
    )
      return;
    const reason = refusal(parsed);
    if (reason === undefined) return;
    const what =
      host === address
        ? `The address ${host} is not globally reachable`
        : `The host ${host} has an address that is not globally reachable`;
    throw new OutboundRefused(
      `${what} (range ${reason}). Connections to it are refused unless the operator allows it ` +
        'in SLUICE_OUTBOUND_ALLOW.',
    );
  };
  const resolveAll = async (name: string): Promise<[OutboundAddress, ...OutboundAddress[]]> => {
    const host = withoutBrackets(name);
    if (host === '') throw new OutboundRefused('The host is empty.');
    const found =
      isIP(host) === 0
        ? await dnsLookup(host, { all: true })
        : [{ address: host, family: isIP(host) }];
    for (const { address } of found) check(host, address);
    const [first, ...others] = found;
    if (first === undefined) throw new OutboundRefused(`The host ${host} has no address.`);
    return [first, ...others];
  };
  const lookup: LookupFunction = (host, lookupOptions, callback) => {
    resolveAll(host).then(
      (found) =>
        lookupOptions.all === true
          ? callback(null, found)
          : callback(null, found[0].address, found[0].family),
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
  const dispatcher = openDispatcher(check, lookup);
  const agents = {
    http: guard(new http.Agent(agent_options), check, lookup),
    https: guard(new https.Agent(agent_options), check, lookup),
  };
  return {
    resolveHost: async (host) => (await resolveAll(host))[0],
    checkLiteral: (host) => checkLiteral(host, check),
    lookup,
    agents,
    fetch: (url, init) => fetchGuarded(new URL(url), init ?? {}, dispatcher),
    close: async () => {
      agents.http.destroy();
      agents.https.destroy();
      await dispatcher.close();
    },
  };
}

function parseRange(text: string): [Address, number] {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = unwrap(ipaddr.parse(text));
  return [address, address.kind() === 'ipv6' ? 128 : 32];
}

function unwrap(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress()
    ? address.toIPv4Address()
    : address;
}

/** The name of the range that forbids the address, or undefined when it is global unicast. */
function refusal(address: Address): string | undefined {
  const range = address.range();
  if (range !== 'unicast') return range;
  if (address.toString() === azure_host) return 'of the host of Azure';
  if (!(address instanceof ipaddr.IPv6)) return undefined;
  if (!address.match(global_ipv6)) return 'outside 2000::/3';
  return isatap(address) ? 'ISATAP' : undefined;
}

function withoutBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}

/** Node passes literal addresses by `lookup`, so they are checked where the connection is made. */
function checkLiteral(host: string, check: Check): void {
  const literal = withoutBrackets(host);
  if (isIP(literal) !== 0) check(literal, literal);
}

/** An agent of http or https whose every connection passes the check. */
function guard<Guarded extends http.Agent>(
  agent: Guarded,
  check: Check,
  lookup: LookupFunction,
): Guarded {
  const create = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    try {
      if (typeof options.socketPath === 'string')
        throw new OutboundRefused('Connections to a local socket are refused.');
      checkLiteral(options.host ?? 'localhost', check);
    } catch (error) {
      // Given back like any fault of a connection: thrown at once, it would leave the timers of the
      // AWS SDK behind.
      process.nextTick(() => callback?.(error as Error, new Socket()));
      return undefined;
    }
    return create({ ...options, lookup }, callback);
  };
  return agent;
}

function openDispatcher(check: Check, lookup: LookupFunction): Agent {
  const connect = buildConnector({ timeout: connect_timeout_milliseconds, lookup });
  return new Agent({
    connect: (options, callback) => {
      try {
        checkLiteral(options.hostname, check);
      } catch (error) {
        callback(error as Error, null);
        return;
      }
      connect(options, callback);
    },
  });
}

async function fetchGuarded(start: URL, init: RequestInit, dispatcher: Agent): Promise<Response> {
  let url = start;
  let request: RequestInit = { ...init, dispatcher, redirect: 'manual' };
  for (let hops = 0; hops <= redirects_max; hops += 1) {
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw new OutboundRefused(
        `Only http and https addresses can be fetched, not ${url.protocol}//.`,
      );
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

/** Does the answer say where to ask instead, by the rules of the Fetch standard? */
export function isRedirect({ status, headers }: Pick<Response, 'status' | 'headers'>): boolean {
  return redirect_statuses.has(status) && headers.has('location');
}

/**
 * Where a redirect of `url` leads. Throws an OutboundRefused for what is no address, and for one
 * that leads from https to http.
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

/** undici hides a refusal in the cause of a `TypeError: fetch failed`. */
async function send(url: URL, request: RequestInit): Promise<Response> {
  try {
    return await undiciFetch(url, uncopied(request));
  } catch (error) {
    if (error instanceof Error && error.cause instanceof OutboundRefused) throw error.cause;
    throw error;
  }
}

/** The request with bytes as a stream of known length: as bytes they are copied three times. */
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
 * The request after a redirect, by the rules of the Fetch standard: 303, and POST on 301 or 302,
 * become GET.
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
