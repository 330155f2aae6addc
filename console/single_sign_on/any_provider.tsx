import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { providerAddress, providersFor } from './providers.ts';
import { ProviderLink } from './provider_link.tsx';

/**
 * The ways to sign in beside a password: the providers of this server, and that of the
 * organization, which the address in the form tells.
 */
export function AnyProvider({ next }: { next: string | undefined }) {
  const { data } = useQuery(providersFor());
  const [is_missing, setMissing] = useState(false);
  const goOn = () => {
    const field = document.querySelector<HTMLInputElement>('input[name=email]');
    const email = field?.value.trim() ?? '';
    setMissing(email === '');
    // A link and no form: the policy of the page lets forms lead to this server only, and this
    // address leads on to the identity provider.
    if (email !== '') location.assign(providerAddress('saml', { email, next }));
    else field?.focus();
  };
  return (
    <div className="ways">
      <Button variant="default" onClick={goOn}>
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
