import type { Static } from 'typebox';
import type { Providers } from '../../server/api/single_sign_on/schema.ts';

/** A provider for signing in. */
export type Provider = Static<typeof Providers>['providers'][number];

/** The names of the providers. */
export const provider_names: Record<Provider, string> = {
  saml: 'single sign-on',
  'google-oauth2': 'Google',
  github: 'GitHub',
  gitlab: 'GitLab',
  openid: 'OpenID Connect',
};
