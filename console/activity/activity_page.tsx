import { Tabs } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { pathOf } from '../http/reading.ts';
import { Page } from '../page/page.tsx';
import { securityEventsOf } from '../security_events/security_events.ts';
import { activityOf } from './activity.ts';
import { Changes } from './changes.tsx';
import { SecurityPanel } from './security_panel.tsx';

const route = getRouteApi('/signed_in/organizations/$organization_id/activity');

/** The changes of the organization and, for owners, its security events. */
export function ActivityPage() {
  const { organization_id } = route.useParams();
  const { tab = 'changes', event, ...filter } = route.useSearch();
  const navigate = route.useNavigate();
  const { key: _key, scope: _scope, activity: _activity, item_id: _item, ...shared } = filter;
  const events = { ...shared, ...(event === undefined ? {} : { event }) };
  const list =
    tab === 'security'
      ? securityEventsOf(organization_id, events)
      : activityOf(organization_id, filter);
  return (
    <Page title="Activity" request={pathOf(list)}>
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(wanted) =>
          void navigate({ search: wanted === 'security' ? { tab: wanted } : {} })
        }
      >
        <Tabs.List>
          <Tabs.Tab value="changes">Changes</Tabs.Tab>
          <Tabs.Tab value="security">Security</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="changes">
          <Changes
            organization_id={organization_id}
            filter={filter}
            go={(search) => void navigate({ search })}
          />
        </Tabs.Panel>
        <Tabs.Panel value="security">
          <SecurityPanel
            organization_id={organization_id}
            filter={events}
            go={(search) => void navigate({ search: { tab: 'security', ...search } })}
          />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
