import type { OpenidProvider } from '../../platform/openid_providers.ts';

/**
 * A person whom a provider signed in. `email` is the verified address, lower-case ASCII; `identity`
 * is the account there; `method` is the session's sign-in method. `session_ends_at` is the latest
 * end (ISO instant); `settings_hash` identifies the settings of an organization's own provider.
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
