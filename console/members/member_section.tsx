import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { MemberRow } from '../../server/api/members/schema.ts';
import type { OrganizationRow } from '../../server/api/organizations/schema.ts';
import { ManagedMark } from '../configuration/managed_mark.tsx';
import { Pages } from '../page/tables/pages.tsx';
import { Rows } from '../page/tables/rows.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { Section } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { account } from '../signed_in/account.ts';
import { levelWord, nameOf } from '../signed_in/member_words.ts';
import { ManageMember } from './manage_member.tsx';
import { members } from './members.ts';

/** The members as a table, with the selected one and its actions above. */
export function MemberSection({
  organization,
  page,
  shown,
  go,
}: {
  organization: OrganizationRow;
  page: number;
  /** The uuid of the selected member. */
  shown: string | undefined;
  go: (page: number) => void;
}) {
  const query = useQuery(members(organization.id, page));
  const { data: own } = useQuery(account);
  return (
    <Section title={`Members of ${organization.name}`} is_wide>
      <Shown query={query}>
        {({ count, results }) => {
          const chosen = results.find(({ user }) => user.uuid === shown);
          return (
            <>
              {chosen !== undefined && (
                <ManageMember
                  key={chosen.id}
                  member={chosen}
                  organization={organization}
                  is_oneself={chosen.user.uuid === own?.uuid}
                  is_only_owner={results.length === count && isOnlyOwner(chosen, results)}
                  page={page}
                />
              )}
              <Rows
                rows={results}
                keyOf={({ id }) => id}
                columns={{
                  ...columnsOf(own?.uuid),
                  Change: (member) =>
                    member.user.uuid === own?.uuid || mayManage(organization, member) ? (
                      <Link
                        to="/organizations/$organization_id/members"
                        params={{ organization_id: organization.id }}
                        search={{ ...(page > 1 ? { page } : {}), member: member.user.uuid }}
                        resetScroll={false}
                      >
                        {member.user.uuid === own?.uuid ? 'Leave' : 'Manage'}
                        <span className="unseen"> {nameOf(member.user)}</span>
                      </Link>
                    ) : (
                      <span className="muted">by administrators</span>
                    ),
                }}
              />
              <Pages count={count} page={page} go={go} />
            </>
          );
        }}
      </Shown>
    </Section>
  );
}

/** Returns true if no other member is an owner: the API lets nobody remove this one. */
function isOnlyOwner(member: MemberRow, all: MemberRow[]): boolean {
  return member.level === 15 && all.filter(({ level }) => level === 15).length === 1;
}

/** Returns true if the API lets the signed-in person change the member. */
function mayManage({ membership_level }: OrganizationRow, { level }: MemberRow): boolean {
  return membership_level >= 8 && level <= membership_level;
}

const columnsOf = (own_uuid: string | undefined): Columns<MemberRow> => ({
  Name: ({ user, managed_by }) => (
    <>
      <ManagedMark by={managed_by} />
      <bdi>{nameOf(user)}</bdi>
      {user.uuid === own_uuid && <span className="muted"> (you)</span>}
    </>
  ),
  Address: {
    long: ({ user }) => (
      <>
        <bdi>{user.email}</bdi>
        {!user.is_email_verified && <span className="warn"> not confirmed</span>}
      </>
    ),
  },
  Level: ({ level }) => levelWord(level),
  'Second factor': ({ is_2fa_enabled, has_social_auth }) => (
    <span className={is_2fa_enabled ? 'good' : 'warn'}>
      {is_2fa_enabled ? 'Set up' : has_social_auth ? 'None here, but at a provider' : 'None'}
    </span>
  ),
  'Last seen': ({ last_seen_at: at }) =>
    at === null ? <span className="muted">Not yet</span> : <Instant at={at} />,
  Joined: ({ joined_at }) => <Instant at={joined_at} />,
});
