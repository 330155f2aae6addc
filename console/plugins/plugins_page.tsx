import { NativeSelect, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { PluginConfigRow } from '../../server/api/plugin_configs/schema.ts';
import type { PluginRow } from '../../server/api/plugins/schema.ts';
import { ManagedMark } from '../configuration/managed_mark.tsx';
import { pathOf } from '../http/reading.ts';
import { PagedRows } from '../page/tables/paged_rows.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { Empty } from '../page/empty.tsx';
import { Page } from '../page/page.tsx';
import { InOrganization } from './in_organization.tsx';
import { Install } from './install.tsx';
import { activityScope, collectionOf, collections, pluginConfigs, plugins } from './plugins.ts';
import type { Collection } from './plugins.ts';

const route = getRouteApi('/signed_in/projects/$project_id/plugins');

/** The plugins of the organization, and which of them the project uses. */
export function PluginsPage() {
  const { project_id } = route.useParams();
  const { collection = 'pipeline_destinations', show } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <InOrganization project_id={project_id}>
      {(organization) => (
        <Page
          title="Tools and plugins"
          request={pathOf(plugins(organization, collection, 1, show))}
        >
          <Tabs
            value={collection}
            keepMounted={false}
            onChange={(wanted) => void navigate({ search: { collection: collectionOf(wanted) } })}
          >
            <Tabs.List>
              {collections.map(({ value, label }) => (
                <Tabs.Tab key={value} value={value}>
                  {label}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            {collections.map(({ value, purpose }) => (
              <Tabs.Panel key={value} value={value}>
                <Plugins organization_id={organization} collection={value} purpose={purpose} />
              </Tabs.Panel>
            ))}
          </Tabs>
        </Page>
      )}
    </InOrganization>
  );
}

type Given = { organization_id: string; collection: Collection };

function Plugins({ organization_id, collection, purpose }: Given & { purpose: string }) {
  const { project_id } = route.useParams();
  const { page = 1, show } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(plugins(organization_id, collection, page, show));
  const configs = useQuery(pluginConfigs(project_id));
  const shown = { collection, ...(show === undefined ? {} : { show }) };
  const has_none = show === undefined && query.data?.count === 0;
  return (
    <>
      {!has_none && <Which organization_id={organization_id} collection={collection} />}
      <PagedRows
        query={query}
        page={page}
        go={(wanted) => void navigate({ search: { ...shown, page: wanted } })}
        keyOf={({ id }) => id}
        columns={columnsOf({ project_id, collection }, configs.data?.results ?? [])}
        empty={
          <Empty title={show === undefined ? 'No plugins yet' : 'No unused plugins'}>
            {show === undefined
              ? `${purpose} Install one from the catalogue, or write your own code.`
              : 'Every plugin of the organization is on in some project.'}
          </Empty>
        }
      />
      <Install
        key={collection}
        project_id={project_id}
        organization_id={organization_id}
        collection={collection}
      />
    </>
  );
}

/** Chooses the shown plugins, and links to their changes. */
function Which({ organization_id, collection }: Given) {
  const { show } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <div className="toolbar">
      <NativeSelect
        size="xs"
        aria-label="Which plugins"
        value={show ?? 'all'}
        onChange={({ target }) =>
          void navigate({
            search: { collection, ...(target.value === 'unused' ? { show: 'unused' } : {}) },
          })
        }
        data={[
          { value: 'all', label: 'All' },
          { value: 'unused', label: 'Off in every project' },
        ]}
      />
      <Link
        to="/organizations/$organization_id/activity"
        params={{ organization_id }}
        search={{ scope: activityScope(collection) }}
      >
        Activity of plugins
      </Link>
    </div>
  );
}

const columnsOf = (
  place: { project_id: string; collection: Collection },
  configs: PluginConfigRow[],
): Columns<PluginRow> => ({
  Name: ({ id, name, managed_by }) => (
    <>
      <ManagedMark by={managed_by} />
      <Link
        to="/projects/$project_id/plugins/$collection/$plugin_id"
        params={{ ...place, plugin_id: String(id) }}
      >
        <bdi>{name ?? `Plugin ${id}`}</bdi>
      </Link>
    </>
  ),
  'What it does': { long: ({ description }) => description },
  Version: {
    long: ({ tag, latest_tag }) => (
      <>
        {tag}
        {latest_tag !== null && latest_tag !== tag && (
          <span className="warn"> ({latest_tag} is there)</span>
        )}
      </>
    ),
  },
  'In this project': {
    long: ({ id }) => <ConfigState config={configs.find(({ plugin }) => plugin === id)} />,
  },
});

function ConfigState({ config }: { config: PluginConfigRow | undefined }) {
  if (config === undefined) return <span className="muted">Not used</span>;
  if (config.error !== null) return <span className="bad">{config.error.message}</span>;
  return (
    <>
      <ManagedMark by={config.managed_by} />
      {config.enabled ? <span className="good">On</span> : <span className="warn">Off</span>}
      {config.waiting_version !== null && <span className="warn">, a newer version waits</span>}
      {config.order > 0 && <span className="muted">, order {config.order}</span>}
    </>
  );
}
