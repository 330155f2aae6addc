import { configuredProviders } from '../../platform/openid_providers.ts';
import type { OpenidSettings } from '../../platform/openid_providers.ts';

/**
 * Lists the values of `sso_enforcement` on this server: none, the domain's own SAML provider, or an
 * OpenID provider that the operator has configured.
 */
export function ssoChoices(settings: OpenidSettings): string[] {
  return ['', 'saml', ...configuredProviders(settings)];
}
