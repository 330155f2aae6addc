import ipaddr from 'ipaddr.js';

/**
 * Returns the address for rate limits: an IPv6 network of 64 bits belongs to one owner. An IPv4
 * address counts as such in any notation.
 */
export function addressOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return ip;
  const address = ipaddr.process(ip);
  return address instanceof ipaddr.IPv6
    ? `${new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`
    : address.toString();
}
