import { Type } from 'typebox';
import type { Static } from 'typebox';

export const StoredSecrets = Type.Object(
  {
    secret_keys: Type.Array(Type.String(), {
      description: 'Keys of the config with a stored secret; no value is ever shown.',
    }),
  },
  { title: 'StoredSecrets' },
);
/** The stored secrets of an export's destination, by their keys. */
export type StoredSecrets = Static<typeof StoredSecrets>;
