import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { MemberRow } from '../../server/api/members/schema.ts';
import type { OrganizationRow } from '../../server/api/organizations/schema.ts';
import { ChoiceField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { TypedForm } from '../form/typed_form.tsx';
import { Panel } from '../page/panel.tsx';
import { useDone } from '../page/section.tsx';
import { useSignedOut } from '../shell/sign_out.ts';
import { account } from '../signed_in/account.ts';
import { forgetMemberships } from '../signed_in/member_of.ts';
import { levelChoices, levelOf, nameOf } from '../signed_in/member_words.ts';
import { MemberSessions } from './member_sessions.tsx';
import { memberPath, members } from './members.ts';

type Given = { member: MemberRow; organization: OrganizationRow; page: number };

/** The actions on a member: level, sessions, removal; for oneself: leaving. */
export function ManageMember({
  is_oneself,
  is_only_owner,
  ...given
}: Given & { is_oneself: boolean; is_only_owner: boolean }) {
  return (
    <Panel>
      <h3>
        <bdi>{nameOf(given.member.user)}</bdi>
      </h3>
      {is_oneself && is_only_owner ? (
        <p>
          You are the only owner, so you cannot leave. Make another member an owner first, or delete
          the organization in its{' '}
          <Link
            to="/organizations/$organization_id/settings"
            params={{ organization_id: given.organization.id }}
          >
            settings
          </Link>
          .
        </p>
      ) : is_oneself ? (
        <Leave {...given} />
      ) : (
        <>
          <ChangeLevel {...given} />
          {given.organization.membership_level === 15 && (
            <MemberSessions member={given.member} organization_id={given.organization.id} />
          )}
          <Remove {...given} />
        </>
      )}
      <p className="after_form">
        <Link {...placeOf(given)}>Close</Link>
      </p>
    </Panel>
  );
}

/** The list without the panel. */
function placeOf({ organization, page }: Pick<Given, 'organization' | 'page'>) {
  return {
    to: '/organizations/$organization_id/members',
    params: { organization_id: organization.id },
    search: page > 1 ? { page } : {},
    resetScroll: false,
  } as const;
}

/** Closes the panel, reads the members again and shows the result. */
function useClosed({ organization, page }: Given): (told: string) => Promise<void> {
  const done = useDone();
  const navigate = useNavigate();
  return async (told) => {
    await navigate(placeOf({ organization, page }));
    await done(told, members(organization.id, page));
  };
}

function ChangeLevel(given: Given) {
  const { member, organization } = given;
  const closed = useClosed(given);
  return (
    <Form
      method="PATCH"
      path={memberPath(organization.id, member.user.uuid)}
      body={({ level }) => ({ level: levelOf(level) })}
      done={() => closed(`The level of ${member.user.email} was changed.`)}
      button="Change the level"
      asks={({ level }) =>
        member.level === 15 && level !== '15' && member.directory_token_count > 0
          ? {
              title: `Change the level of ${nameOf(member.user)}?`,
              text: tokensEnding(member),
              button: 'Change the level',
              keep: 'Cancel',
            }
          : undefined
      }
    >
      <ChoiceField
        name="level"
        label="Level"
        hint="Administrators change settings and members; owners can delete the organization too."
        options={levelChoices(organization.membership_level)}
        value={String(member.level)}
      />
    </Form>
  );
}

/** Describes the directory tokens that end when their creator is no longer an owner. */
function tokensEnding({ directory_token_count: count }: MemberRow): string {
  return (
    `${count === 1 ? 'A directory token' : `${count} directory tokens`} (SCIM) that they created ` +
    `${count === 1 ? 'ends' : 'end'} at once: a directory that uses ` +
    `${count === 1 ? 'it' : 'them'} is refused until an owner creates a new one.`
  );
}

function Remove(given: Given) {
  const { member, organization } = given;
  const closed = useClosed(given);
  return (
    <TypedForm
      name={member.user.email}
      title={`Remove ${nameOf(member.user)}?`}
      text={
        'Their keys and sessions lose access at once. Everything that they created stays.' +
        (member.directory_token_count > 0 ? ` ${tokensEnding(member)}` : '')
      }
      path={memberPath(organization.id, member.user.uuid)}
      done={() => closed(`${member.user.email} was removed.`)}
      button="Remove them"
    />
  );
}

function Leave({ member, organization }: Given) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const signedOut = useSignedOut();
  const { data: own } = useQuery(account);
  // The API ends the sessions of a person without any organization.
  const is_only = own?.organizations.length === 1;
  return (
    <TypedForm
      name={organization.name}
      text={
        'You lose access to it, unless you are invited again.' +
        (member.directory_token_count > 0
          ? ' The directory tokens (SCIM) that you created end at once.'
          : '') +
        (is_only
          ? ' You are in no other, so you are signed out everywhere; the account stays.'
          : '')
      }
      path={memberPath(organization.id, '@me')}
      done={async () => {
        forgetMemberships(member.user.uuid, [organization.id]);
        if (is_only) return signedOut();
        await navigate({ to: '/account' });
        await queries.invalidateQueries();
      }}
      button="Leave the organization"
    />
  );
}
