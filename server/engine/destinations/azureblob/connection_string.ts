import { isPlainBase } from '../../../platform/outbound/plain_address.ts';
import { textOf } from '../object_store/config_rules.ts';

/** The address of a blob service, and either the account's key or a shared access signature. */
export type Access =
  | { endpoint: string; account: { name: string; key: string }; sas?: undefined }
  | { endpoint: string; account?: undefined; sas: string };

/**
 * Reads an Azure connection string, or returns a sentence about its fault that contains no part of
 * the string. Our own reader instead of the SDK's: it can check a string before it is stored and
 * without loading the SDK.
 */
export function readConnectionString(text: string): Access | string {
  const parts = partsOf(text);
  if (parts === undefined)
    return 'A connection string consists of name=value parts, separated by semicolons.';
  if (parts.has('usedevelopmentstorage'))
    return 'Name the address and key of the emulator: AccountName, AccountKey and BlobEndpoint.';
  const name = textOf(parts.get('accountname'));
  const endpoint = endpointOf(parts, name)?.replace(/\/+$/, '');
  if (endpoint === undefined || !isPlainBase(endpoint))
    return (
      'The connection string needs a BlobEndpoint, or an AccountName and https or http as ' +
      'DefaultEndpointsProtocol.'
    );
  const sas = textOf(parts.get('sharedaccesssignature'));
  if (sas !== undefined) return { endpoint, sas };
  const key = textOf(parts.get('accountkey'));
  if (name === undefined || key === undefined)
    return 'The connection string needs AccountName and AccountKey, or a SharedAccessSignature.';
  return { endpoint, account: { name, key } };
}

/** Returns names in lower case with their values. Keys and signatures contain equals signs too. */
function partsOf(text: string): Map<string, string> | undefined {
  const parts = new Map<string, string>();
  for (const part of text.split(';').filter((one) => one.trim() !== '')) {
    const middle = part.indexOf('=');
    if (middle < 1) return undefined;
    parts.set(part.slice(0, middle).trim().toLowerCase(), part.slice(middle + 1).trim());
  }
  return parts;
}

function endpointOf(parts: Map<string, string>, name: string | undefined): string | undefined {
  const endpoint = textOf(parts.get('blobendpoint'));
  if (endpoint !== undefined || name === undefined) return endpoint;
  const protocol = parts.get('defaultendpointsprotocol') ?? 'https';
  const suffix = parts.get('endpointsuffix') ?? 'core.windows.net';
  return `${protocol}://${name}.blob.${suffix}`;
}
