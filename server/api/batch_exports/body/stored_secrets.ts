import { isDeepStrictEqual } from 'node:util';
import type { DestinationDefinition } from '../../../engine/destination/destination.ts';
import { event_filter_keys } from '../../../engine/models/event_filter.ts';
import type { Violation } from '../../../platform/http/errors.ts';
import type { Destination, FullConfig } from './destination_body.ts';

/**
 * Config keys that cannot lead a secret elsewhere or make its way less safe: what is written, where inside the destination, and how it is packed. Every key that is not listed counts as one that can,
 * so that a new key is safe until somebody has thought about it.
 */
const harmless_keys = new Set([
  ...event_filter_keys,
  'arg',
  'body_format',
  'compression',
  'container_name',
  'database',
  'dataset_id',
  'encryption',
  'file_format',
  'kms_key_id',
  'max_file_size_mb',
  'max_request_records',
  'max_request_size_mb',
  'prefix',
  'properties_data_type',
  'role',
  'schema',
  'table_id',
  'table_name',
  'use_json_type',
  'warehouse',
]);

/** Secret keys that only say who writes. Others, such as a connection string, can name a place. */
const credential_keys = new Set([
  'account_key',
  'aws_access_key_id',
  'aws_secret_access_key',
  'client_email',
  'headers',
  'password',
  'private_key',
  'private_key_id',
  'private_key_passphrase',
  'sas_token',
  'signing_secret',
  'token',
]);

/** Can a change of this config key lead the secrets of the config elsewhere, or make their way there less safe? */
export function leadsSecrets(key: string): boolean {
  return !harmless_keys.has(key) && !credential_keys.has(key);
}

/**
 * The violations of a trial with stored secrets: whoever may try a destination out must not be able to have a secret that they do not know sent to a listener of their own. Where the config differs
 * from the stored one in a key that leads secrets, each secret that it uses must have been sent with it. Both configs are whole, defaults included; `sent` are the keys of the body.
 */
export function trialViolations(
  definition: Pick<DestinationDefinition, 'secrets'>,
  stored: Destination,
  tried: Destination,
  sent: ReadonlySet<string>,
): Violation[] {
  if (tried.type !== stored.type) return [];
  const keys = new Set([...Object.keys(stored.config), ...Object.keys(tried.config)]);
  const changed = [...keys].filter(
    (key) =>
      leadsSecrets(key) &&
      !isDeepStrictEqual(meaningOf(stored.config, key), meaningOf(tried.config, key)),
  );
  if (changed.length === 0) return [];
  return definition.secrets
    .filter((key) => !sent.has(key) && meaningOf(tried.config, key) !== undefined)
    .map((key) => ({
      attr: `destination__config__${key}`,
      code: 'required',
      detail: `Send it too: with another ${changed.join(', ')} the stored one would be shown to whoever listens there. A change by PATCH keeps it.`,
    }));
}

/** The value of a key; undefined where it says nothing. */
function meaningOf(config: FullConfig, key: string): unknown {
  const value = config[key];
  const isNothing = value === null || value === '' || isDeepStrictEqual(value, {});
  return isNothing ? undefined : value;
}
