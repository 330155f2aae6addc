import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { InviteRow, InviteWithLink } from '../../server/api/invites/schema.ts';
import type { OrganizationRow } from '../../server/api/organizations/schema.ts';
import { Form } from '../form/form.tsx';
import { levelWord, nameOf } from '../signed_in/member_words.ts';
import { useIsAdministrator } from '../signed_in/only_for.tsx';
import { CopyButton } from '../page/copy_button.tsx';
import { Empty } from '../page/empty.tsx';
import { Panel } from '../page/panel.tsx';
import { ManagedMark } from '../configuration/managed_mark.tsx';
import { Rows } from '../page/tables/rows.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { PagedRows } from '../page/tables/paged_rows.tsx';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { Instant } from '../time/instant.tsx';
import { account } from '../signed_in/account.ts';
import { InviteForm } from './invite_form.tsx';
import { inviteState, unsentNote } from './invite_words.ts';
import { invites } from './invites.ts';
import { pathTo } from '../http/path.ts';

/** The open invites as a table, and the form that sends more. */
export function InviteSection({
  organization,
  page,
  is_asked,
  go,
}: {
  organization: OrganizationRow;
  page: number;
  /** True if the form was already requested. */
  is_asked: boolean;
  go: (page: number) => void;
}) {
  const query = useQuery(invites(organization.id, page));
  const { data: own } = useQuery(account);
  const is_administrator = useIsAdministrator(organization.id);
  const [created, setCreated] = useState<InviteWithLink[]>([]);
  return (
    <Section title="Invites" is_wide>
      {created[0] !== undefined && <Created key={created[0].updated_at} created={created} />}
      <Seldom summary="Invite people" is_open={is_asked}>
        <InviteForm organization={organization} page={page} created={setCreated} />
      </Seldom>
      <PagedRows
        query={query}
        page={page}
        go={go}
        keyOf={({ id }) => id}
        columns={{
          ...columns,
          Change: (invite) =>
            is_administrator || (own !== undefined && invite.created_by?.uuid === own.uuid) ? (
              <Actions
                invite={invite}
                organization={organization}
                page={page}
                sent={(again) => setCreated([again])}
              />
            ) : (
              <span className="muted">by administrators</span>
            ),
        }}
        empty={
          <Empty title="No open invites">
            Invite people by their address. They get a link that works for 3 days.
          </Empty>
        }
      />
    </Section>
  );
}

/** Results per address, with the links, which the API returns only once. */
function Created({ created }: { created: InviteWithLink[] }) {
  const note = unsentNote(created);
  const seesLinks = created.some(({ link }) => link !== undefined);
  return (
    <Panel>
      <h3>{created.length === 1 ? 'The invite' : `${created.length} invites`}</h3>
      {note !== undefined && <p className="warn">{note}</p>}
      <p>
        {seesLinks && 'The links are not shown again. '}
        They are open for 3 days.
      </p>
      <Rows<InviteWithLink>
        rows={created}
        keyOf={({ id }) => id}
        columns={{
          Address: ({ target_email }) => <bdi>{target_email}</bdi>,
          Mail: ({ emailing_attempt_made: is_sent }) => (
            <span className={is_sent ? 'good' : 'warn'}>{is_sent ? 'Sent' : 'Not sent'}</span>
          ),
          ...(seesLinks && {
            Link: {
              long: ({ link, target_email }) =>
                link !== undefined && (
                  <div className="row_actions">
                    <CopyButton text={link} what={`the link for ${target_email}`} />
                    <code>{link}</code>
                  </div>
                ),
            },
          }),
        }}
      />
    </Panel>
  );
}

const columns: Columns<InviteRow> = {
  Address: ({ target_email, managed_by }) => (
    <>
      <ManagedMark by={managed_by} />
      <bdi>{target_email}</bdi>
    </>
  ),
  Level: ({ level }) => levelWord(level),
  State: (invite) => {
    const { word, tone } = inviteState(invite);
    return <span className={tone}>{word}</span>;
  },
  'Invited by': {
    long: ({ created_by: by }) =>
      by === null ? <span className="muted">a deleted user</span> : <bdi>{nameOf(by)}</bdi>,
  },
  Sent: ({ updated_at }) => <Instant at={updated_at} />,
};

function Actions({
  invite: { id, target_email, level },
  organization: { id: organization_id, membership_level },
  page,
  sent,
}: {
  invite: InviteRow;
  organization: OrganizationRow;
  page: number;
  sent: (invite: InviteWithLink) => void;
}) {
  const done = useDone();
  const ids = { organization_id, id };
  return (
    <div className="row_actions">
      {membership_level >= level && (
        <Form
          path={pathTo('/api/organizations/:organization_id/invites/:id/resend/', ids)}
          done={async (again) => {
            await done(`${target_email} was invited again.`, invites(organization_id, page));
            sent(again);
          }}
          button="Send again"
          about={`to ${target_email}`}
          tone="plain"
        />
      )}
      <Form
        method="DELETE"
        path={pathTo('/api/organizations/:organization_id/invites/:id/', ids)}
        done={() =>
          done(`The invite of ${target_email} was withdrawn.`, invites(organization_id, page))
        }
        button="Withdraw"
        about={`the invite of ${target_email}`}
        tone="danger"
        asks={() => ({
          title: `Withdraw the invite of ${target_email}?`,
          text: 'Its link stops working at once. You can invite them again.',
          button: 'Withdraw the invite',
          keep: 'Keep the invite',
        })}
      />
    </div>
  );
}
