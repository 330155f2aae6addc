import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { PluginConfigRow } from '../../server/api/plugin_configs/schema.ts';
import type { PluginRow } from '../../server/api/plugins/schema.ts';
import { TypedForm } from '../form/typed_form.tsx';
import { etagOf, pathOf } from '../http/reading.ts';
import { AsYaml } from '../configuration/as_yaml.tsx';
import { ManagedNote } from '../configuration/managed_note.tsx';
import { OnlyFor, useIsAdministrator } from '../signed_in/only_for.tsx';
import { Page } from '../page/page.tsx';
import { Section, Seldom } from '../page/section.tsx';
import { MayBeOld, Shown } from '../page/shown.tsx';
import { ConfigSection } from './config_section.tsx';
import { InOrganization, NoSuchPlugin } from './in_organization.tsx';
import { JobSection } from './job_section.tsx';
import { LogSection } from './log_section.tsx';
import { MetricSection } from './metric_section.tsx';
import {
  activityScope,
  collectionOf,
  isOwnCode,
  pluginConfigOf,
  pluginConfigs,
  pluginOf,
  pluginPath,
  runIn,
  sourceOf,
} from './plugins.ts';
import type { Place } from './plugins.ts';
import { SourceSection } from './source_section.tsx';
import { TryOut } from './editor/try_out.tsx';
import { DeliverySection } from './tool/delivery_section.tsx';
import { OauthSection } from './tool/oauth_section.tsx';
import { isTool } from './tool/tool_source.ts';
import { VersionSection } from './versions.tsx';

const route = getRouteApi('/signed_in/projects/$project_id/plugins/$collection/$plugin_id');

/** A plugin: its settings in this project, its log, its code, and its deletion. */
export function PluginPage() {
  const { project_id } = route.useParams();
  return (
    <InOrganization project_id={project_id}>
      {(organization_id) => <OfOrganization organization_id={organization_id} />}
    </InOrganization>
  );
}

function OfOrganization({ organization_id }: { organization_id: string }) {
  const { project_id, plugin_id, ...path } = route.useParams();
  const collection = collectionOf(path.collection);
  const place = { project_id, organization_id, collection };
  const read = pluginOf(organization_id, collection, plugin_id);
  const query = useQuery(read);
  const configs = useQuery(pluginConfigs(project_id));
  const configOf = ({ id }: PluginRow) => configs.data?.results.find(({ plugin }) => plugin === id);
  return (
    <Page title={query.data?.name ?? 'Plugin'} request={pathOf(read)}>
      <Shown query={query} missing={<NoSuchPlugin project_id={project_id} />}>
        {(plugin) => (
          <>
            <Facts plugin={plugin} is_own={plugin.organization_id === organization_id} />
            <ManagedNote by={plugin.managed_by} />
            {plugin.organization_id === organization_id && <AsYaml kind="plugin" id={plugin.id} />}
            <Shown query={configs}>
              {() => <InProject plugin={plugin} place={place} listed={configOf(plugin)} />}
            </Shown>
            {plugin.organization_id === organization_id && (
              <>
                <SourceSection plugin={plugin} place={place} />
                <VersionSection {...{ plugin, place }} config_id={configOf(plugin)?.id} />
              </>
            )}
            <Done plugin={plugin} place={place} />
            {plugin.organization_id === organization_id && (
              <Section title="Removal">
                <OnlyFor organization_id={organization_id}>
                  <Uninstall plugin={plugin} place={place} />
                </OnlyFor>
              </Section>
            )}
          </>
        )}
      </Shown>
    </Page>
  );
}

/** Shows the settings of a plugin, and its jobs, metrics and log if the project uses it. */
function InProject({
  plugin,
  place,
  listed,
}: {
  plugin: PluginRow;
  place: Place;
  /** The config from the list; undefined if the project does not use the plugin. */
  listed: PluginConfigRow | undefined;
}) {
  const { project_id, organization_id } = place;
  const query = useQuery({
    ...pluginConfigOf(project_id, listed?.id ?? 0),
    enabled: listed !== undefined,
  });
  const may_change = useIsAdministrator(organization_id);
  const { level } = route.useSearch();
  const navigate = route.useNavigate();
  const config = listed && (query.data ?? listed);
  const of = config && { project_id, config_id: config.id };
  const is_destination = place.collection === 'pipeline_destinations';
  return (
    <>
      <MayBeOld problem={query.error} />
      <ConfigSection plugin={plugin} place={place} config={config} />
      {of !== undefined && config?.uses_oauth === true && (
        <OauthSection place={place} config_id={of.config_id} may_change={may_change} />
      )}
      {may_change && is_destination && <TestSection plugin={plugin} place={place} />}
      {config !== undefined && of !== undefined && (
        <>
          <JobSection
            {...of}
            organization_id={organization_id}
            public_jobs={runIn(plugin, config).public_jobs}
            is_enabled={config.enabled}
          />
          {is_destination && (
            <DeliverySection
              {...of}
              is_enabled={config.enabled}
              may_change={may_change}
              error={config.error?.message}
            />
          )}
          {!isTool(plugin) && <MetricSection {...of} />}
          <LogSection
            {...of}
            level={level}
            chosen={(wanted) => void navigate({ search: wanted })}
          />
        </>
      )}
    </>
  );
}

function TestSection({ plugin, place }: { plugin: PluginRow; place: Place }) {
  const is_own = plugin.organization_id === place.organization_id;
  const query = sourceOf(place.organization_id, place.collection, String(plugin.id));
  const files = useQuery({ ...query, enabled: is_own }).data?.source;
  if (files === undefined) return null;
  return (
    <Section title="Test">
      <Seldom summary="Send an event, or preview the request" is_late>
        <TryOut {...{ plugin, place, files }} checked={undefined} tried={() => undefined} />
      </Seldom>
    </Section>
  );
}

function Facts({
  plugin: { description, url, tag, latest_tag, plugin_type, organization_name },
  is_own,
}: {
  plugin: PluginRow;
  is_own: boolean;
}) {
  const from =
    url ?? (!isOwnCode({ plugin_type }) ? plugin_type : is_own ? 'your own code' : 'code');
  return (
    <>
      {description !== null && <p>{description}</p>}
      <p className="muted">
        From {from}
        {!is_own && (
          <>
            {' '}
            of the organization <bdi>{organization_name}</bdi>
          </>
        )}
        {tag !== null && tag !== '' && `, version ${tag}`}
        {latest_tag !== null && latest_tag !== tag && `; ${latest_tag} is available`}
      </p>
    </>
  );
}

function Done({
  plugin,
  place: { organization_id, collection },
}: {
  plugin: PluginRow;
  place: Place;
}) {
  return (
    <Section title="Activity">
      <p>
        <Link
          to="/organizations/$organization_id/activity"
          params={{ organization_id }}
          search={{ scope: activityScope(collection), item_id: String(plugin.id) }}
        >
          Activity of this plugin
        </Link>
      </p>
    </Section>
  );
}

function Uninstall({ plugin, place }: { plugin: PluginRow; place: Place }) {
  const navigate = route.useNavigate();
  const { organization_id, project_id, collection } = place;
  return (
    <TypedForm
      name={plugin.name ?? String(plugin.id)}
      text={
        'Sluice removes it from every project of the organization, ' +
        'with its settings and stored data.'
      }
      path={pluginPath(organization_id, collection, String(plugin.id))}
      if_match={etagOf(plugin)}
      done={() =>
        navigate({
          to: '/projects/$project_id/plugins',
          params: { project_id },
          search: { collection },
        })
      }
      button="Uninstall"
    />
  );
}
