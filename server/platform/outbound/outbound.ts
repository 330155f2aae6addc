import { lookup as dnsLookup } from 'node:dns/promises';
import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import type { LookupFunction, Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { RequestInit, Response } from 'undici';
import { connectTo } from './connect_to.ts';
import { guardedAgent, guardedDispatcher } from './guarded_agents.ts';
import { fetchGuarded } from './guarded_fetch.ts';
import { OutboundRefused } from './outbound_faults.ts';
import { no_proxies, proxyWay } from './proxy.ts';
import type { ProxySettings } from './proxy.ts';

/** An address that the guard allows, and its family (4 or 6). */
export type OutboundAddress = { address: string; family: number };

/**
 * The guard before every connection that leaves the server. Guarantee of each member: it only
 * connects to a globally reachable address or to one that the operator allowed. It uses exactly the
 * checked address, so that a name cannot change its target in between. HTTP uses the operator's
 * proxy, which is asked for that address.
 */
export type Outbound = {
  /**
   * Returns the pinned address for a host name or a literal address. Throws `OutboundRefused`, or
   * the resolver's error if the name is unknown.
   */
  resolveHost(host: string): Promise<OutboundAddress>;
  /** Throws `OutboundRefused` for a forbidden literal address; it does not look names up. */
  checkLiteral(host: string): void;
  /** Connects to a host and port for TLS, through the operator's https proxy if there is one. */
  connect(host: string, port: number): Promise<Socket>;
  /** Agents for libraries built on `node:http`; they check literal addresses too. */
  agents: { http: http.Agent; https: https.Agent };
  /** Opens a separate agent, which the caller has to destroy. */
  openAgent(protocol: 'http:' | 'https:', options: https.AgentOptions): http.Agent;
  /**
   * Works like the standard's `fetch`, only for http and https. It follows at most 5 redirects,
   * each of them checked, none from https to http. Credentials are not sent to another origin. A
   * body of bytes is sent without copies: the caller must not change it until the answer has come.
   */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  /** Closes idle connections. */
  close(): Promise<void>;
};

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Check = (host: string, address: string) => void;

const agent_options = { keepAlive: true, maxSockets: 64, timeout: 120_000 };
// All of today's global IPv6 addresses (RFC 4291, IANA): ipaddr.js also calls some outside it
// unicast, such as the old ::127.0.0.1.
const global_ipv6 = ipaddr.parseCIDR('2000::/3');
// After the prefix of any network, an IPv4 address to which an ISATAP host wraps the packets (RFC
// 5214).
const isatap = (address: ipaddr.IPv6) =>
  (address.parts[4]! & ~0x0200) === 0 && address.parts[5] === 0x5efe;
// A public address that the host of each Azure virtual machine answers: its metadata.
const azure_host = '168.63.129.16';

/**
 * Rules of the guard: `allow` lists addresses and CIDR ranges that may be reached although they are
 * not globally reachable (SLUICE_OUTBOUND_ALLOW); `resolve` finds the addresses of a name.
 */
export type OutboundOptions = {
  allow: string[];
  proxies?: ProxySettings;
  resolve?: (host: string) => Promise<OutboundAddress[]>;
};

const resolveAddresses = (host: string) => dnsLookup(host, { all: true });

/** Opens the guard. */
export function openOutbound(options: OutboundOptions): Outbound {
  const { proxies = no_proxies, resolve = resolveAddresses } = options;
  const check = openCheck(options.allow);
  const resolveAll = async (name: string): Promise<[OutboundAddress, ...OutboundAddress[]]> => {
    const host = withoutBrackets(name);
    if (host === '') throw new OutboundRefused('The host is empty.');
    const found = isIP(host) === 0 ? await resolve(host) : [{ address: host, family: isIP(host) }];
    for (const { address } of found) check(host, address);
    const [first, ...others] = found;
    if (first === undefined) throw new OutboundRefused(`The host ${host} has no address.`);
    return [first, ...others];
  };
  const throughProxy = (protocol: 'http:' | 'https:') => async (name: string, port: number) => {
    const addresses = (await resolveAll(name)).map(({ address }) => address);
    return proxyWay(proxies, protocol, { host: withoutBrackets(name), addresses, port })?.();
  };
  const guard = {
    checkLiteral: (host: string) => checkLiteral(host, check),
    lookup: lookupBy(resolveAll),
    throughProxy: {
      ...(proxies.http === undefined ? {} : { 'http:': throughProxy('http:') }),
      ...(proxies.https === undefined ? {} : { 'https:': throughProxy('https:') }),
    },
  };
  const dispatcher = guardedDispatcher(guard);
  const agents = {
    http: guardedAgent(new http.Agent(agent_options), guard),
    https: guardedAgent(new https.Agent(agent_options), guard),
  };
  const resolveHost = async (host: string) => (await resolveAll(host))[0];
  return {
    resolveHost,
    checkLiteral: guard.checkLiteral,
    connect: async (host, port) =>
      (await guard.throughProxy['https:']?.(host, port)) ??
      connectTo((await resolveHost(host)).address, port),
    agents,
    openAgent: (protocol, agentOptions) =>
      guardedAgent(
        protocol === 'https:' ? new https.Agent(agentOptions) : new http.Agent(agentOptions),
        guard,
      ),
    fetch: (url, init) => fetchGuarded(new URL(url), init ?? {}, dispatcher),
    close: async () => {
      agents.http.destroy();
      agents.https.destroy();
      await dispatcher.close();
    },
  };
}

function lookupBy(resolveAll: (host: string) => Promise<OutboundAddress[]>): LookupFunction {
  return (host, { all }, callback) => {
    resolveAll(host).then(
      (found) =>
        all === true ? callback(null, found) : callback(null, found[0]!.address, found[0]!.family),
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}

/** Opens the check that refuses addresses that are neither globally reachable nor allowed. */
function openCheck(allow: string[]): Check {
  const allowed = allow.map(parseRange);
  return (host, address) => {
    const parsed = unwrap(ipaddr.parse(address));
    if (
      allowed.some(
        ([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits),
      )
    )
      return;
    const reason = refusal(parsed);
    if (reason === undefined) return;
    const isLiteral = host === address;
    const what = isLiteral
      ? `The address ${host} is not globally reachable`
      : `The host ${host} has an address that is not globally reachable`;
    const value = settingFor(parsed, isLiteral);
    const change =
      allow.length === 0
        ? `sets SLUICE_OUTBOUND_ALLOW=${value}`
        : `adds ${value} to SLUICE_OUTBOUND_ALLOW`;
    throw new OutboundRefused(
      `${what} (range ${reason}), so Sluice refuses to connect. To allow it, the operator ` +
        `${change} and restarts the server.`,
    );
  };
}

/**
 * Returns the setting's value that allows the address. The address behind a name is not shown,
 * because names of an internal network may be the operator's secret; loopback is the same
 * everywhere.
 */
function settingFor(address: Address, isLiteral: boolean): string {
  if (address.range() !== 'loopback') return isLiteral ? address.toString() : '<its address>';
  if (!isLiteral) return '127.0.0.0/8,::1';
  return address.kind() === 'ipv4' ? '127.0.0.0/8' : '::1';
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

/** Returns the name of the forbidden range, or undefined for global unicast. */
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

/**
 * Node does not call `lookup` for literal addresses, so they are checked where the connection is
 * made.
 */
function checkLiteral(host: string, check: Check): void {
  const literal = withoutBrackets(host);
  if (isIP(literal) !== 0) check(literal, literal);
}
