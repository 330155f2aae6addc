import type { Violation } from '../../platform/http/errors.ts';
import { isIpRange, range_examples } from '../../platform/http/guards/ip_ranges.ts';

/**
 * Lists the faults of a list of addresses and networks; none for a value that is no list of texts.
 */
export function addressFaults(list: unknown): Violation[] {
  if (!Array.isArray(list)) return [];
  const wrong = list.find((item) => typeof item === 'string' && !isIpRange(item));
  if (wrong === undefined) return [];
  const detail = `Each must be an IP address or a network, such as ${range_examples}.`;
  return [{ attr: 'internal_addresses', code: 'invalid_input', detail }];
}
