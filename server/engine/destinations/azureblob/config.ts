import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { ConfigViolation } from '../../model/destination/destination.ts';
import { placed_file_keys, fileViolations, prefixKey } from '../formats/file_config.ts';
import { endpointViolations, textOf } from '../object_store/config_rules.ts';
import { readConnectionString } from './connection_string.ts';
import type { Access } from './connection_string.ts';
import { optionalText, requiredText } from '../../model/destination/config_keys.ts';
import { violation } from '../../model/destination/violation.ts';

/** The keys of an Azure Blob Storage destination. */
export const azureblob_config = Type.Object(
  {
    account_name: optionalText(24, 'Needed without a connection string.'),
    account_key: optionalText(512, 'Give either this key or a SAS token.'),
    sas_token: optionalText(
      2048,
      'A shared access signature for the account or the container. Give either it or the account ' +
        'key.',
    ),
    connection_string: optionalText(
      4096,
      'Replaces the account name, the key or token, and the endpoint.',
    ),
    container_name: requiredText(63, 'It must exist.'),
    prefix: prefixKey('Blob names begin with this text.'),
    ...placed_file_keys,
    endpoint_url: optionalText(
      2048,
      'For other Azure clouds. If null or empty, Sluice uses ' +
        'https://<account_name>.blob.core.windows.net.',
    ),
  },
  { additionalProperties: false },
);

/** The values of the keys that a user has set. */
export type AzureBlobConfig = Static<typeof azureblob_config>;

/** Checks rules that the schema cannot express. */
export function azureblobViolations(config: AzureBlobConfig): ConfigViolation[] {
  const found = fileViolations(config);
  if (!/^(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*$|^\$(root|web)$/.test(config.container_name))
    found.push(
      violation(
        'container_name',
        'A container name is 3 to 63 lower-case letters, digits and single hyphens, and ' +
          'begins and ends with a letter or digit.',
      ),
    );
  if (config.prefix.split('/').some((part) => part.endsWith('.')))
    found.push(violation('prefix', 'No part of the prefix may end with a dot.'));
  return [...found, ...accessViolations(config)];
}

function accessViolations(config: AzureBlobConfig): ConfigViolation[] {
  const text = textOf(config.connection_string);
  if (text !== undefined) {
    const others = (['account_name', 'account_key', 'sas_token', 'endpoint_url'] as const).filter(
      (key) => textOf(config[key]) !== undefined,
    );
    if (others.length > 0)
      return others.map((key) =>
        violation(
          key,
          `The connection_string already has this: remove ${key} or the connection_string.`,
        ),
      );
    const read = readConnectionString(text);
    return typeof read === 'string' ? [violation('connection_string', read)] : [];
  }
  const found = endpointViolations(textOf(config.endpoint_url));
  const [name, key, sas] = [
    textOf(config.account_name),
    textOf(config.account_key),
    textOf(config.sas_token),
  ];
  if (name === undefined)
    found.push(
      violation(
        'account_name',
        'Give a connection_string, or account_name with account_key or sas_token.',
        'required',
      ),
    );
  else if (!/^[a-z0-9]{3,24}$/.test(name))
    found.push(
      violation('account_name', 'An account name is 3 to 24 lower-case letters and digits.'),
    );
  if (key === undefined && sas === undefined)
    found.push(violation('account_key', 'Give an account_key or a sas_token.', 'required'));
  if (key !== undefined && sas !== undefined)
    found.push(violation('sas_token', 'Give either an account_key or a sas_token.'));
  if (key !== undefined && !isAccountKey(key))
    found.push(violation('account_key', 'An account key is base64 text, as the portal shows it.'));
  if (sas !== undefined && !isSignature(sas))
    found.push(
      violation('sas_token', 'A shared access signature has a part sig=; copy all of it.'),
    );
  return found;
}

function isAccountKey(text: string): boolean {
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text);
}

function isSignature(text: string): boolean {
  return new URLSearchParams(text).has('sig');
}

/** Returns the account's address and credentials, from a config without violations. */
export function accessOf(config: AzureBlobConfig): Access {
  const text = textOf(config.connection_string);
  if (text !== undefined) {
    const read = readConnectionString(text);
    if (typeof read === 'string') throw new Error(read);
    return read;
  }
  const name = textOf(config.account_name) ?? '';
  const endpoint =
    textOf(config.endpoint_url)?.replace(/\/+$/, '') ?? `https://${name}.blob.core.windows.net`;
  const sas = textOf(config.sas_token);
  return sas === undefined
    ? { endpoint, account: { name, key: textOf(config.account_key) ?? '' } }
    : { endpoint, sas };
}
