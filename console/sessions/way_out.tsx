import { useQuery } from '@tanstack/react-query';
import { Link, useLocation } from '@tanstack/react-router';
import type { Problem } from '../http/problem.ts';
import { ProviderLink } from '../single_sign_on/provider_link.tsx';
import { providersFor } from '../single_sign_on/providers.ts';
import { account } from '../signed_in/account.ts';
import { ConfirmButton } from '../shell/confirm_button.tsx';

/** The remedy for a refusal because of how the person signed in. */
export function WayOut({ problem: { status, code } }: { problem: Problem }) {
  if (status !== 403) return null;
  if (code === 'own_factor_required')
    return (
      <p>
        <ConfirmButton />
      </p>
    );
  if (code === 'second_factor_required') return <SecondFactor />;
  return code === 'sso_enforced' ? <SingleSignOn /> : null;
}

function SecondFactor() {
  const { data: own } = useQuery(account);
  if (own === undefined) return null;
  return (
    <p>
      {own.is_2fa_enabled ? (
        <ConfirmButton />
      ) : (
        <Link to="/account">Set one up in your account</Link>
      )}
    </p>
  );
}

function SingleSignOn() {
  const { data: own } = useQuery(account);
  return own === undefined ? null : <Providers email={own.email} />;
}

/** The providers for the address; general providers do not open other organizations. */
function Providers({ email }: { email: string }) {
  const { href } = useLocation();
  const { data } = useQuery(providersFor(email));
  const vouching = (data?.providers ?? []).filter(
    (provider) => data?.is_enforced === true || provider === 'saml',
  );
  return (
    <p>
      {vouching.map((provider) => (
        <ProviderLink key={provider} provider={provider} email={email} next={href} />
      ))}
    </p>
  );
}
