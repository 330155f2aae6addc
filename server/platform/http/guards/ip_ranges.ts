import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Violation } from '../errors.ts';

/** An example of each form of a range, for a sentence. */
export const range_examples = '203.0.113.7, 203.0.113.0/24 or 2001:db8::/32';

/** Returns true for an IP address, and for a network in CIDR notation. */
export function isIpRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0 || address.includes('%')) return false;
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
  );
}

/** Returns the faults of a list of ranges, each by its position. */
export function rangeFaults(name: string, list: readonly unknown[]): Violation[] {
  return list.flatMap((entry, index) =>
    typeof entry !== 'string' || isIpRange(entry.trim())
      ? []
      : [
          {
            attr: `${name}__${index}`,
            code: 'invalid_input' as const,
            detail: `Must be an IP address or a network, such as ${range_examples}.`,
          },
        ],
  );
}

/**
 * Returns true if the address is in one of these ranges, each of which `isIpRange` accepts. An IPv4
 * address counts as such in any notation. An empty list contains nothing, and invalid addresses are
 * in no list.
 */
export function isInRanges(ip: string, ranges: readonly string[]): boolean {
  return openRanges(ranges)(ip);
}

/** Does the same as `isInRanges` for many look-ups in one list. */
export function openRanges(ranges: readonly string[]): (ip: string) => boolean {
  const networks = ranges.map(networkOf);
  return (ip) => {
    if (isIP(ip) === 0) return false;
    const address = ipaddr.process(ip);
    return networks.some(
      ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
    );
  };
}

function networkOf(range: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  const [text = '', length] = range.split('/');
  const address = ipaddr.parse(text);
  const bits = length === undefined ? (address.kind() === 'ipv4' ? 32 : 128) : Number(length);
  // ::ffff:203.0.113.0/120 is 203.0.113.0/24.
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96
    ? [address.toIPv4Address(), bits - 96]
    : [address, bits];
}
