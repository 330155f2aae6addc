import type { Static } from 'typebox';
import type { Deps } from '../../deps.ts';
import { configuredProviders } from '../../platform/openid_providers.ts';
import { findVerifiedDomain } from '../domains/store.ts';
import type { Providers } from './schema.ts';

/**
 * Returns the configured providers of this server. For an address, it returns those that its domain
 * and the server's settings allow: a single one if the domain enforces it.
 */
export async function findProviders(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  email: string | undefined,
): Promise<Static<typeof Providers>> {
  const domain = email === undefined ? undefined : await findVerifiedDomain(db, config, email);
  const saml = domain?.has_saml === true ? (['saml'] as const) : [];
  const all = [...saml, ...configuredProviders(config)];
  const enforced = domain?.sso_enforcement ?? '';
  return enforced === ''
    ? { providers: all, is_enforced: false }
    : { providers: all.filter((provider) => provider === enforced), is_enforced: true };
}
