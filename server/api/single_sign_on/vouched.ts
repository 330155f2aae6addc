import type { OpenidProvider } from '../../platform/openid_providers.ts';

/**
 * A person whom a provider signed in: `email` is the address that it vouches for, lower-case ASCII,
 * `identity` the account there, `method` what the session says of how the person signed in,
 * `session_ends_at` when it has to end at the latest (ISO instant), `settings_hash` what stands for
 * the settings of an organization's own provider.
 */
export type Vouched = {
  method: 'saml' | OpenidProvider;
  identity: { provider: string; subject: string };
  email: string;
  first_name?: string;
  last_name?: string;
  session_ends_at?: string;
  settings_hash?: Buffer;
};
