import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import type { Socket } from 'node:net';
import { isWithoutProxy } from './no_proxy.ts';
import type { ProxyTarget } from './no_proxy.ts';
import { ProxyFault } from './outbound_faults.ts';

/**
 * The operator's proxies for outgoing connections: for https and http, the targets without a proxy,
 * and the form of targets for a proxy.
 */
export type ProxySettings = {
  https?: string | undefined;
  http?: string | undefined;
  without: string[];
  connect_by: 'address' | 'name';
  /** Time limit for the proxy's answer. */
  answer_ms?: number;
};

/** Makes every connection directly. */
export const no_proxies: ProxySettings = { without: [], connect_by: 'address' };

/** Opens a connection through a proxy; the socket is that of the target. */
export type ProxyWay = () => Promise<Socket>;

const answer_ms_max = 10_000;
const addresses_max = 3;

/**
 * Returns the connection through a proxy to a target whose addresses have passed the guard, or
 * undefined if it needs none. Guarantee: the proxy is asked for one of these addresses, unless the
 * operator prefers the name; only the proxy gets the credentials.
 */
export function proxyWay(
  settings: ProxySettings,
  protocol: 'http:' | 'https:',
  target: ProxyTarget,
): ProxyWay | undefined {
  const proxy = protocol === 'https:' ? settings.https : settings.http;
  if (proxy === undefined || isWithoutProxy(settings.without, target)) return undefined;
  // Proxies have IPv4 more often than IPv6.
  const inOrder = target.addresses.toSorted((one, other) => isIP(one) - isIP(other));
  const hosts = settings.connect_by === 'name' ? [target.host] : inOrder.slice(0, addresses_max);
  const { answer_ms = answer_ms_max } = settings;
  return async () => {
    let last: unknown;
    for (const host of hosts)
      try {
        return await connectThrough(new URL(proxy), authority(host, target.port), answer_ms);
      } catch (error) {
        last = error;
        if (!(error instanceof HostFailed)) throw error;
      }
    throw last;
  };
}

/** Thrown if a working proxy could not reach the requested address. */
class HostFailed extends ProxyFault {}

function authority(host: string, port: number): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Asks the proxy for a connection (RFC 9110, CONNECT). Only rejects with a `ProxyFault`. */
function connectThrough(proxy: URL, target: string, answer_ms: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const request = (proxy.protocol === 'https:' ? https : http).request({
    method: 'CONNECT',
    host: proxy.hostname.replace(/^\[(.+)\]$/, '$1'),
    port: proxy.port === '' ? (proxy.protocol === 'https:' ? 443 : 80) : Number(proxy.port),
    path: target,
    headers: { host: target, ...credentialsOf(proxy) },
    agent: false,
  });
  const timer = setTimeout(() => request.destroy(late(answer_ms)), answer_ms);
  request.once('connect', ({ statusCode = 0 }, socket: Socket, first: Buffer) => {
    clearTimeout(timer);
    if (statusCode < 200 || statusCode > 299) {
      socket.destroy();
      return reject(refusalOf(statusCode));
    }
    if (first.length > 0) socket.unshift(first);
    resolve(socket.setNoDelay(true).setKeepAlive(true, 10_000));
  });
  request.once('error', (error) => {
    clearTimeout(timer);
    reject(error instanceof ProxyFault ? error : unreached(error));
  });
  request.end();
  return promise;
}

function credentialsOf({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}

const the_proxy = "The proxy of this server's outgoing connections";

function late(answer_ms: number): ProxyFault {
  return new ProxyFault(
    'proxy_failed',
    `${the_proxy} did not answer within ${answer_ms / 1000} seconds. Ask the operator to ` +
      'check SLUICE_HTTPS_PROXY, and that the proxy is running.',
  );
}

function refusalOf(status: number): ProxyFault {
  // tinyproxy sends 401.
  if (status === 407 || status === 401)
    return new ProxyFault(
      'proxy_failed',
      `${the_proxy} refused its user or password (${status}). Ask the operator to correct them ` +
        'in SLUICE_HTTPS_PROXY or SLUICE_HTTP_PROXY.',
    );
  if (status >= 500)
    return new HostFailed(
      'proxy_failed',
      `${the_proxy} could not reach the host (it answered ${status}). Check the address; if it ` +
        'is right, ask the operator to let the proxy reach it.',
    );
  return new ProxyFault(
    'proxy_refused',
    `${the_proxy} does not let connections to this host and port pass (it answered ` +
      `${status}). Ask the operator to allow CONNECT to them, or to name the host in ` +
      'SLUICE_NO_PROXY.',
  );
}

/** Only uses the code: the system's message contains the address of the proxy. */
function unreached(error: NodeJS.ErrnoException): ProxyFault {
  const { code = '' } = error;
  const how =
    code === 'ENOTFOUND' || code === 'EAI_AGAIN'
      ? 'has a host name that cannot be looked up'
      : code === 'ECONNRESET' || code === 'EPIPE'
        ? 'closed the connection without an answer'
        : /^HPE_|^EPROTO$|^ERR_SSL/.test(code)
          ? 'does not speak the protocol of its URL'
          : /CERT|SIGNATURE|ISSUER/.test(code)
            ? 'has a certificate that cannot be verified'
            : 'cannot be reached';
  return new ProxyFault(
    'proxy_failed',
    `${the_proxy} ${how}${code === '' ? '' : ` (${code})`}. Ask the operator to check ` +
      'SLUICE_HTTPS_PROXY and SLUICE_HTTP_PROXY, and that the proxy is running.',
    error,
  );
}
