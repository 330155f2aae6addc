import { isIP } from 'node:net';
import type { Violation } from '../../platform/http/errors.ts';

/** What is wrong with a list of addresses and networks; of what is no list of texts nothing. */
export function addressFaults(list: unknown): Violation[] {
  if (!Array.isArray(list)) return [];
  const wrong = list.find((item) => typeof item === 'string' && !isAddressOrNetwork(item));
  if (wrong === undefined) return [];
  const detail =
    'Each must be an IP address or a network, such as 203.0.113.7, 203.0.113.0/24 or ' +
    '2001:db8::/32.';
  return [{ attr: 'internal_addresses', code: 'invalid_input', detail }];
}

function isAddressOrNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  if (bits === undefined) return true;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
}
