import { Type } from 'typebox';
import { openid_providers } from '../../platform/openid_providers.ts';
import { flag, instant, titled } from '../../platform/http/schemas.ts';

/** The address at which an administrator starts a test. */
export const TestSignIn = titled('TestSignIn', {
  url: Type.String({
    format: 'uri',
    description:
      'Open it in a browser. It signs nobody in; at the end it shows what the identity ' +
      'provider said, or why that would be refused.',
  }),
  expires_at: instant('Start the test before this time.'),
});

/** The providers for signing in, in addition to a password. */
export const Providers = titled('SignInProviders', {
  providers: Type.Array(Type.Enum(['saml', ...openid_providers]), {
    description:
      'Each starts at `/login/<provider>/`, in a browser. `saml` only for an address whose ' +
      'domain has a provider.',
  }),
  is_enforced: flag('True if the domain of the address allows no other way, including a password.'),
});
