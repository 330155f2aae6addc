import { isIPv6 } from 'node:net';
import type { ConfigViolation } from '../destination/destination.ts';

/**
 * Violations of the `host` of a database, which is a host name or an address alone: its port has a
 * key of its own.
 */
export function hostViolations(host: string): ConfigViolation[] {
  if (/^[0-9A-Za-z._-]+$/.test(host) || isIPv6(host)) return [];
  const hasPort = /^[^:/]+:\d+$/.test(host);
  const detail = hasPort
    ? 'The host must stand alone: put what is behind the colon into port.'
    : 'The host must be a host name or an address, without a protocol, a port or a path.';
  return [{ attr: 'host', code: 'invalid_input', detail }];
}
