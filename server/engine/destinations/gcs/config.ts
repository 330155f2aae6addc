import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { ConfigViolation } from '../../model/destination/destination.ts';
import { placed_file_keys, fileViolations, prefixKey } from '../formats/file_config.ts';
import { isRsaKey } from '../object_store/google_key.ts';
import { dotViolations, endpointViolations, textOf } from '../object_store/config_rules.ts';
import { optionalText, requiredText } from '../../model/destination/config_keys.ts';
import { violation } from '../../model/destination/violation.ts';

/** The keys of a Google Cloud Storage destination. */
export const gcs_config = Type.Object(
  {
    bucket_name: Type.String({
      minLength: 3,
      maxLength: 222,
      description: 'It must exist.',
    }),
    service_account_json: requiredText(20_000, 'Paste the whole key file from Google Cloud.'),
    prefix: prefixKey('Object names begin with this text.'),
    ...placed_file_keys,
    endpoint_url: optionalText(
      2048,
      'For private access points. If null or empty, Sluice uses https://storage.googleapis.com.',
    ),
  },
  { additionalProperties: false },
);

/** The values of the keys that a user has set. */
export type GcsConfig = Static<typeof gcs_config>;

/** The credentials: the account's address and its private key in PEM. */
export type ServiceAccount = { client_email: string; private_key: string };

/** Returns the URL of the storage service without a trailing slash. */
export function endpointOf(config: GcsConfig): string {
  return textOf(config.endpoint_url)?.replace(/\/+$/, '') ?? 'https://storage.googleapis.com';
}

/** Checks rules that the schema cannot express. */
export function gcsViolations(config: GcsConfig): ConfigViolation[] {
  const found = [
    ...fileViolations(config),
    ...dotViolations(config.prefix),
    ...endpointViolations(textOf(config.endpoint_url)),
  ];
  if (!/^[a-z0-9][a-z0-9._-]+[a-z0-9]$/.test(config.bucket_name)) {
    found.push(
      violation(
        'bucket_name',
        'A bucket name is at least three lower-case letters, digits, dots, hyphens or ' +
          'underscores, and begins and ends with a letter or digit.',
      ),
    );
  }
  const account = readServiceAccount(config.service_account_json);
  if (typeof account === 'string') found.push(violation('service_account_json', account));
  return found;
}

/**
 * Reads the account of a key file, or returns a sentence about its fault that contains no part of
 * the text. Only a service account is accepted: the other kinds name addresses to contact.
 */
export function readServiceAccount(text: string): ServiceAccount | string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return 'The key of the service account must be the text of a JSON file.';
  }
  const { type, client_email, private_key } = (parsed ?? {}) as Record<string, unknown>;
  if (type !== 'service_account')
    return 'The JSON must be the key of a service account: its "type" is "service_account".';
  if (typeof client_email !== 'string' || client_email === '')
    return 'The key of the service account has no "client_email".';
  if (typeof private_key !== 'string' || !isRsaKey(private_key))
    return (
      'The key of the service account has no "private_key", or it is not a complete ' +
      'RSA key in PEM.'
    );
  return { client_email, private_key };
}
