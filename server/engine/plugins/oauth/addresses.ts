import { isPlainAddress } from '../../../platform/outbound/plain_address.ts';

/** The path to which the vendor of a tool sends browsers back. */
export const complete_path = '/complete/tool/';

/** The redirect address of a tool: its own, so no vendor's answer is taken for another's. */
export function redirectAddress(public_url: string, tool: string): string {
  return `${public_url}${complete_path}${tool}/`;
}

const local_hosts = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * True for an address that an application may have: https, or http on the machine itself. The
 * outbound guard decides later whether it is reached.
 */
export function isVendorAddress(text: string): boolean {
  const url = URL.parse(text);
  return isPlainAddress(text) && (url!.protocol === 'https:' || local_hosts.has(url!.hostname));
}
