import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { account } from '../signed_in/account.ts';
import { forgetMemberships, lostMemberships, noteMemberships } from '../signed_in/member_of.ts';
import { current_session } from '../signed_in/sessions.ts';

/** Names the organizations that the person has left since this tab was opened. */
export function LostNote() {
  const { data: own } = useQuery(account);
  const { data: session } = useQuery(current_session);
  const [, setClosed] = useState(0);
  // A partial session cannot see the other organizations.
  const known = session?.is_partial === false ? own : undefined;
  useEffect(() => {
    if (known !== undefined) noteMemberships(known);
  }, [known]);
  const lost = known === undefined ? [] : lostMemberships(known);
  if (known === undefined || lost.length === 0) return undefined;
  const close = () => {
    forgetMemberships(known.uuid);
    noteMemberships(known);
    setClosed((times) => times + 1);
  };
  return (
    <p className="note" role="note">
      You are no longer a member of <bdi>{lost.join(', ')}</bdi>. To come back, ask an administrator
      there for an invite.{' '}
      <Button size="compact-sm" onClick={close}>
        Close
      </Button>
    </p>
  );
}
