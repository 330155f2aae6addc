import { isIPv6 } from 'node:net';
import { defaultFlag, defaultText } from '../../model/destination/config_keys.ts';
import type { ConfigViolation } from '../../model/destination/destination.ts';
import { violation } from '../../model/destination/violation.ts';

/** Returns the key of the table, whose name has at most this many characters. */
export function tableKey(maxLength: number) {
  const description =
    'Sluice creates the table if it does not exist, and alters it only to add typed columns.';
  return defaultText('events', maxLength, description);
}

/** The key that refuses a server without TLS. */
export const require_tls_key = defaultFlag(
  true,
  'If off, Sluice connects without TLS when the server offers none. Turn it off in private ' +
    'networks only.',
);

/** The key that disables the check of the certificate. */
export const self_signed_key = defaultFlag(
  false,
  'If on, Sluice uses TLS but does not check the certificate.',
);

/**
 * Checks the host of a database, or of its tunnel, which is only a host name or an address: its
 * port has its own key.
 */
export function hostViolations(host: string, key = 'host', port_key = 'port'): ConfigViolation[] {
  if (/^[0-9A-Za-z._-]+$/.test(host) || isIPv6(host)) return [];
  const hasPort = /^[^:/]+:\d+$/.test(host);
  const detail = hasPort
    ? `Enter the host alone, and put the number behind the colon into ${port_key}.`
    : 'The host must be a host name or an address, without protocol, port or path.';
  return [violation(key, detail)];
}

/** Checks that a table does not have the name of the receipts' table. */
export function receiptsViolations(table: string | undefined): ConfigViolation[] {
  if (table !== 'sluice_receipts') return [];
  const detail = 'Sluice uses the table sluice_receipts for receipts. Choose another name.';
  return [violation('table_name', detail)];
}

/** Checks that a table does not have a name that deliveries create. */
export function ownNameViolations(table: string | undefined): ConfigViolation[] {
  if (table?.startsWith('sluice_') !== true) return [];
  const detail = 'Sluice reserves names that begin with sluice_. Choose another name.';
  return [violation('table_name', detail)];
}

/** Checks the keys whose text no statement can contain. */
export function nulViolations<Key extends string>(
  config: Partial<Record<Key, string | null>>,
  keys: readonly Key[],
): ConfigViolation[] {
  return keys
    .filter((key) => config[key]?.includes('\0') === true)
    .map((key) => violation(key, 'It must not hold NUL.'));
}
