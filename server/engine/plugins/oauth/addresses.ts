import { isPlainAddress } from '../../../platform/outbound/plain_address.ts';

/** The path to which a tool's vendor redirects browsers. */
export const complete_path = '/complete/tool/';

/**
 * Returns the redirect address of a tool: a separate one, so that vendors' answers cannot be
 * confused.
 */
export function redirectAddress(public_url: string, tool: string): string {
  return `${public_url}${complete_path}${tool}/`;
}

const local_hosts = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Returns true for an address that an application may have: https, or http on the machine itself.
 * The outbound guard checks later whether it may be reached.
 */
export function isVendorAddress(text: string): boolean {
  const url = URL.parse(text);
  return isPlainAddress(text) && (url!.protocol === 'https:' || local_hosts.has(url!.hostname));
}
