import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A connection to make: the named host, its addresses and the port. */
export type ProxyTarget = { host: string; addresses: string[]; port: number };

/**
 * Returns true if the target needs no proxy. An entry is `*`, a name, an address or a CIDR range. A
 * name also covers names below it (`example.com`, `.example.com`, `*.example.com`). Addresses and
 * ranges also match the addresses of a name. Names and addresses may have a `:port`. Loopback never
 * uses a proxy: there it would be another machine.
 */
export function isWithoutProxy(entries: string[], target: ProxyTarget): boolean {
  const { host, addresses } = target;
  if (host === 'localhost' || addresses.some(isLoopback)) return true;
  return entries.some((entry) => matches(entry.toLowerCase(), target));
}

function matches(entry: string, { host, addresses, port }: ProxyTarget): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return addresses.some((address) => isIn(entry, address));
  const [, name = entry, only] = /^(\[.+\]|[^:]+):(\d+)$/.exec(entry) ?? [];
  if (only !== undefined && Number(only) !== port) return false;
  const literal = name.replace(/^\[(.+)\]$/, '$1');
  if (isIP(literal) !== 0) return addresses.some((address) => isIn(literal, address));
  const suffix = name.replace(/^\*?\./, '');
  const asked = host.toLowerCase().replace(/\.$/, '');
  return suffix !== '' && (asked === suffix || asked.endsWith(`.${suffix}`));
}

function isLoopback(address: string): boolean {
  return ipaddr.process(address).range() === 'loopback';
}

function isIn(range: string, address: string): boolean {
  const parsed = ipaddr.process(address);
  if (!range.includes('/')) {
    const other = ipaddr.process(range);
    return other.kind() === parsed.kind() && other.toString() === parsed.toString();
  }
  const [network, bits] = ipaddr.parseCIDR(range);
  return network.kind() === parsed.kind() && parsed.match(network, bits);
}
