import type { Deps } from '../../deps.ts';
import { html } from '../../platform/http/pages/html.ts';
import type { Html } from '../../platform/http/pages/html.ts';
import { configuredProviders } from '../../platform/openid_providers.ts';
import type { OpenidProvider } from '../../platform/openid_providers.ts';
import { findVerifiedDomain } from '../domains/store.ts';

type Provider = OpenidProvider | 'saml';

/**
 * Through whom an address can sign in besides its password, or instead of it where one is enforced.
 */
export type Providers = { offered: Provider[]; is_enforced: boolean };

const names: Record<Provider, string> = {
  saml: 'single sign-on',
  'google-oauth2': 'Google',
  github: 'GitHub',
  gitlab: 'GitLab',
};

/** The providers that the address's domain and this server's settings leave. */
export async function findProviders(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  email: string,
): Promise<Providers> {
  const domain = await findVerifiedDomain(db, config, email);
  const all: Provider[] = [
    ...(domain?.has_saml === true ? (['saml'] as const) : []),
    ...configuredProviders(config),
  ];
  const enforced = domain?.sso_enforcement ?? '';
  return enforced === ''
    ? { offered: all, is_enforced: false }
    : { offered: all.filter((provider) => provider === enforced), is_enforced: true };
}

/** A link that begins a sign-in through a provider; the query is what that page takes. */
export function providerLink(
  provider: Provider,
  query: { email?: string; next?: string } = {},
): Html {
  const asked = new URLSearchParams(query).toString();
  return html`<a class="button plain" href="/login/${provider}/${asked === '' ? '' : `?${asked}`}"
    >Continue with ${names[provider]}</a
  > `;
}
