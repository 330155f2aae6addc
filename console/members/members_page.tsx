import { Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { pathOf } from '../http/reading.ts';
import { InviteSection } from '../invites/invite_section.tsx';
import { invites } from '../invites/invites.ts';
import { organizationOf } from '../signed_in/organization.ts';
import { Page } from '../page/page.tsx';
import { Shown } from '../page/shown.tsx';
import { MemberSection } from './member_section.tsx';
import { members } from './members.ts';

const route = getRouteApi('/signed_in/organizations/$organization_id/members');

/** Shows the members of the organization, and its invites. */
export function MembersPage() {
  const { organization_id } = route.useParams();
  const { tab = 'members', form, page = 1, member } = route.useSearch();
  const navigate = route.useNavigate();
  const organization = useQuery(organizationOf(organization_id));
  const list = (tab === 'invites' ? invites : members)(organization_id, page);
  const isSame = tab === 'invites' ? { tab } : {};
  const go = (wanted: number) => void navigate({ search: { ...isSame, page: wanted } });
  const toInvite = tab === 'members' && (
    <Link
      to="/organizations/$organization_id/members"
      params={{ organization_id }}
      search={{ tab: 'invites', form: 'open' }}
      className="act"
    >
      Invite people
    </Link>
  );
  return (
    <Page title="Members" request={pathOf(list)} actions={toInvite}>
      <Shown query={organization}>
        {(own) => (
          <Tabs
            value={tab}
            keepMounted={false}
            onChange={(wanted) =>
              void navigate({ search: wanted === 'invites' ? { tab: wanted } : {} })
            }
          >
            <Tabs.List>
              <Tabs.Tab value="members">Members</Tabs.Tab>
              <Tabs.Tab value="invites">Invites</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="members">
              <MemberSection organization={own} page={page} shown={member} go={go} />
            </Tabs.Panel>
            <Tabs.Panel value="invites">
              <InviteSection organization={own} page={page} is_asked={form === 'open'} go={go} />
            </Tabs.Panel>
          </Tabs>
        )}
      </Shown>
    </Page>
  );
}
