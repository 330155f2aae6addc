import ipaddr from 'ipaddr.js';

/** What is wrong with a range of addresses in CIDR form; undefined when it can be used. */
export function rangeFault(text: string): string | undefined {
  return ipaddr.isValidCIDR(text)
    ? undefined
    : 'Must be an address range in CIDR form, such as 203.0.113.0/24 or 2001:db8::/32.';
}

/**
 * Is the address in one of the ranges (CIDR)? An empty list lets every address in; text that is no
 * address is in none.
 */
export function isInRanges(ip: string, ranges: readonly string[]): boolean {
  if (ranges.length === 0) return true;
  if (!ipaddr.isValid(ip)) return false;
  // An IPv4 address that a socket for both shows as IPv6 is the IPv4 one.
  const address = ipaddr.process(ip);
  return ranges.some((range) => {
    const [network, bits] = ipaddr.parseCIDR(range);
    return network.kind() === address.kind() && address.match(network, bits);
  });
}
