import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { providerAddress, providersFor } from './providers.ts';
import { ProviderLink } from './provider_link.tsx';

/**
 * The ways to sign in without a password: this server's providers, and the organization's provider,
 * found by the address in the form.
 */
export function AnyProvider({ next }: { next: string | undefined }) {
  const { data } = useQuery(providersFor());
  const [is_missing, setMissing] = useState(false);
  const goOn = () => {
    const field = document.querySelector<HTMLInputElement>('input[name=email]');
    const email = field?.value.trim() ?? '';
    setMissing(email === '');
    // A link, not a form: the page's policy allows forms only for this server, and this address
    // redirects to the identity provider.
    if (email !== '') location.assign(providerAddress('saml', { email, next }));
    else field?.focus();
  };
  return (
    <div className="ways">
      <Button onClick={goOn}>
        Continue with single sign-on
        <span className="unseen"> of your organization: fill in your e-mail address</span>
      </Button>
      {is_missing && (
        <p className="fault" role="alert">
          Fill in your address above: it says where you sign in.
        </p>
      )}
      {data?.providers.map((provider) => (
        <ProviderLink key={provider} provider={provider} next={next} />
      ))}
    </div>
  );
}
