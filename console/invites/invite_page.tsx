import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { PlainPage } from '../page/page.tsx';
import { Refusal, Waiting } from '../page/shown.tsx';
import { level_names } from '../signed_in/member_words.ts';
import { account } from '../signed_in/account.ts';
import { useTakenToken } from '../sessions/taken_token.ts';
import { inviteOf } from './invite.ts';
import type { Invite } from './invite.ts';
import { WayIn } from './way_in.tsx';

const route = getRouteApi('/invite/$id');

/**
 * Shows the inviting person and the organization, and how the reader can join. Opening it changes
 * nothing. The session is read first, so that nobody creates a second account.
 */
export function InvitePage() {
  const { id } = route.useParams();
  const navigate = route.useNavigate();
  const token = useTakenToken(route.useSearch().token, () =>
    navigate({ search: {}, replace: true }),
  );
  const invite = useQuery(inviteOf(id, token));
  const visitor = useQuery({ ...account, retry: false, refetchInterval: false });
  if (invite.error !== null && invite.data === undefined)
    return invite.error.status === 404 ? <UnknownInvite /> : <Failed problem={invite.error} />;
  if (invite.data === undefined || visitor.isPending)
    return (
      <PlainPage title="Invite">
        <Waiting />
      </PlainPage>
    );
  return invite.data.is_expired ? (
    <ExpiredInvite invite={invite.data} />
  ) : (
    <PlainPage title={`Join ${invite.data.organization_name}`}>
      <Introduction invite={invite.data} />
      <WayIn invite={invite.data} token={token} email={visitor.data?.email} />
    </PlainPage>
  );
}

function Failed({ problem }: { problem: Parameters<typeof Refusal>[0]['problem'] }) {
  return (
    <PlainPage title="Invite">
      <Refusal problem={problem} />
    </PlainPage>
  );
}

function UnknownInvite() {
  return (
    <PlainPage title="This invite is not open">
      <p>
        It was accepted or withdrawn, a newer mail replaced it, or the link is incomplete. Open the
        link of the latest mail, or ask for a new invite.
      </p>
      <p>
        Have you just joined? Then the organization is in <Link to="/account">your account</Link>.
      </p>
    </PlainPage>
  );
}

function ExpiredInvite({ invite: { organization_name } }: { invite: Invite }) {
  return (
    <PlainPage title="This invite has expired">
      <p>
        It was sent more than 3 days ago, or its sender may no longer invite you. Ask an
        administrator of <bdi>{organization_name}</bdi> to invite you again.
      </p>
    </PlainPage>
  );
}

function Introduction({ invite }: { invite: Invite }) {
  const { organization_name, invited_by, level, target_email, message } = invite;
  return (
    <>
      <p>
        {invited_by === null ? (
          'You are invited'
        ) : (
          <>
            <bdi>{invited_by}</bdi> invites you
          </>
        )}{' '}
        to join{' '}
        <strong>
          <bdi>{organization_name}</bdi>
        </strong>{' '}
        on Sluice as {level_names[level]}. The invite is for <bdi>{target_email}</bdi>.
      </p>
      {message !== null && message.trim() !== '' && (
        <blockquote className="note">{message}</blockquote>
      )}
    </>
  );
}
