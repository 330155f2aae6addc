import { Type } from 'typebox';
import type { Static } from 'typebox';
import { titled } from '../../../platform/http/schemas.ts';

/** The stored secrets of an export's destination, by their keys. */
export const StoredSecrets = titled('StoredSecrets', {
  secret_keys: Type.Array(Type.String(), {
    description: 'Keys of the config with a stored secret; no value is ever shown.',
  }),
});
/** The stored secrets of an export's destination, by their keys. */
export type StoredSecrets = Static<typeof StoredSecrets>;
