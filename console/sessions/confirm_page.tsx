import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import type { SessionRow } from '../../server/api/sessions/schema.ts';
import type { AccountRow } from '../../server/api/users/schema.ts';
import { Panel } from '../page/panel.tsx';
import { PlainPage } from '../page/page.tsx';
import { Shown } from '../page/shown.tsx';
import { useSignOut } from '../shell/sign_out.ts';
import { providerAddress } from '../single_sign_on/providers.ts';
import { account } from '../signed_in/account.ts';
import { ConfirmForm } from './confirm_form.tsx';
import { useEnter } from './enter.ts';
import { providerOf } from '../shell/partial_note.tsx';
import { current_session } from '../signed_in/sessions.ts';

const route = getRouteApi('/confirm');

/** Shown first, if the provider of the sign-in is new to the account. */
export function ConfirmPage() {
  const own = useQuery(account);
  const session = useQuery(current_session);
  return (
    <PlainPage title="Confirm that it is you">
      <Shown query={own}>
        {(known) => (
          <Shown query={session}>
            {(current) => <NewProvider own={known} session={current} />}
          </Shown>
        )}
      </Shown>
    </PlainPage>
  );
}

function NewProvider({ own, session }: { own: AccountRow; session: SessionRow }) {
  const { next } = route.useSearch();
  const queries = useQueryClient();
  const enter = useEnter();
  const signOut = useSignOut();
  const [is_outside, setOutside] = useState(false);
  if (is_outside) return <SignInAgain email={own.email} next={next} />;
  const goOn = async () => {
    const { organizations } = await queries.fetchQuery({ ...account, staleTime: 0 });
    if (organizations.length === 0) setOutside(true);
    else await enter(next);
  };
  return (
    <>
      <p>
        {capitalized(providerOf(session.method, own.email))} is new to your account, which has a
        second factor. Sluice asks for it once before you continue.
      </p>
      <ConfirmForm own={own} session={session} done={goOn} />
      <p className="after_form">
        You did not expect this?{' '}
        <Button size="compact-sm" variant="subtle" onClick={() => signOut()}>
          Sign out
        </Button>
      </p>
    </>
  );
}

/** The page for a provider that is new to the account: the person can join after confirming. */
function SignInAgain({ email, next }: { email: string; next: string | undefined }) {
  return (
    <Panel>
      <p>Thank you. You are in no organization yet.</p>
      <p>
        <a href={providerAddress('saml', { email, next })}>
          Sign in again through the provider to join
        </a>
      </p>
    </Panel>
  );
}

function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
