import { useQuery } from '@tanstack/react-query';
import { provider_names } from '../single_sign_on/provider_names.ts';
import type { Provider } from '../single_sign_on/provider_names.ts';
import { account } from '../signed_in/account.ts';
import { ConfirmButton } from './confirm_button.tsx';
import { current_session } from '../signed_in/sessions.ts';

/** Says in a partial session how to see the rest of the account. */
export function PartialNote() {
  const { data: session } = useQuery(current_session);
  const { data: own } = useQuery(account);
  if (session?.is_partial !== true || own === undefined) return null;
  return (
    <p className="note" role="note">
      You signed in through {providerOf(session.method, own.email)}. You see only organizations that
      accept it. <ConfirmButton /> to see the rest.
    </p>
  );
}

/** Returns the provider of a session in words: an organization's provider by its domain. */
export function providerOf(method: string, email: string): string {
  if (method === 'saml') return `the provider of ${email.slice(email.lastIndexOf('@') + 1)}`;
  return method in provider_names ? provider_names[method as Provider] : method;
}
