import { Button } from '@mantine/core';
import { provider_names } from './provider_names.ts';
import type { Provider } from './provider_names.ts';
import { providerAddress } from './providers.ts';

/** A link that starts a sign-in through a provider; `email` is a hint for its page. */
export function ProviderLink({
  provider,
  email,
  next,
}: {
  provider: Provider;
  email?: string;
  next?: string | undefined;
}) {
  return (
    <Button component="a" href={providerAddress(provider, { email, next })}>
      Continue with {provider_names[provider]}
    </Button>
  );
}
