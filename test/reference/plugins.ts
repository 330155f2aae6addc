import sql from 'sql-template-tag';
import { collection_names, packageFiles } from '../factories/plugins/plugins.ts';
import { publishedPlugin } from '../factories/plugins/plugins.ts';
import type { StoryWorld } from './world.ts';

const config = [{ key: 'token', name: 'Token', type: 'string', secret: true, required: true }];

/** Plugins of the three collections, and one of them in a project. */
export async function tellPlugins(world: StoryWorld): Promise<void> {
  for (const collection of collection_names) await tellCollection(world, collection);
  await pluginConfigs(world);
  await versionOfOthers(world);
}

async function tellCollection(
  { ask, organization, registry }: StoryWorld,
  collection: (typeof collection_names)[number],
): Promise<void> {
  const base = `${organization}${collection}/`;
  const name = `acme-${collection.replaceAll('_', '-')}`;
  const about = { name: 'Acme CRM', description: 'Keeps the CRM of Acme up to date.' };
  registry.publish(name, '1.0.0', packageFiles(collection, about));
  const { id } = await ask('POST', base, { plugin_type: 'custom', url: name });
  const one = `${base}${id}/`;
  registry.publish(name, '1.1.0', packageFiles(collection, { ...about, config }));
  await ask('GET', base);
  await ask('GET', one);
  await ask('GET', `${one}check_for_updates/`);
  await ask('POST', `${one}upgrade/`, { tag: '1.1.0' });
  await ask('POST', `${one}rollback/`);
  const written = await ask('POST', base, { plugin_type: 'source', name: 'Written here' });
  const own = `${base}${written.id}/`;
  const files = packageFiles(collection, about);
  await ask('PATCH', `${own}update_source/`, { source: files });
  await ask('PUT', `${own}update_source/`, { source: files });
  await ask('GET', `${own}source/`);
  await ask('PATCH', own, { description: 'Sends what happened to our CRM.' });
  await ask('PUT', own, { name: 'Our CRM', description: 'Sends what happened to our CRM.' });
  await ask('GET', `${base}repository/`);
  await ask('GET', `${base}unused/`);
  await ask('GET', `${base}exports_unsubscribe_configs/`);
  await ask('GET', `${base}activity/`);
  await ask('DELETE', own);
}

async function pluginConfigs(world: StoryWorld): Promise<void> {
  const { ask, organization, project } = world;
  const base = `${project}plugin_configs/`;
  const plugins = `${organization}pipeline_destinations/`;
  const { id } = await ask('POST', plugins, { plugin_type: 'source', name: 'Mailer' });
  const source = packageFiles(
    'pipeline_destinations',
    { name: 'Mailer', config, publicJobs: { resend: {} } },
    {
      'index.ts':
        'export function onEvent(event: unknown) { return event; }\n' +
        'export const jobs = { resend() {} };',
    },
  );
  await ask('PUT', `${plugins}${id}/update_source/`, { source });
  await ask('POST', `${base}try_out/`, {
    collection: 'pipeline_destinations',
    source,
    config: { token: 'correct horse' },
    event: { event: 'signed up', distinct_id: 'ada', properties: { plan: 'pro' } },
  });
  const tool = await ask('POST', plugins, { plugin_type: 'repository', name: 'HTTP request' });
  await ask('POST', `${base}preview/`, {
    plugin: tool.id,
    mappings: [
      {
        partnerAction: 'send',
        subscribe: 'type = "track"',
        mapping: {
          url: 'https://example.com/in',
          method: 'POST',
          format: 'json',
          body: { plan: { '@path': '$.properties.plan' } },
        },
      },
    ],
    event: { event: 'signed up', distinct_id: 'ada', properties: { plan: 'pro' } },
  });
  await choicesOfTool(world);
  const body = { plugin: id, enabled: true, config: { token: 'correct horse' } };
  const set = await ask('POST', base, body);
  const one = `${base}${set.id}/`;
  await ask('GET', base);
  await ask('GET', one);
  await ask('PATCH', one, { enabled: true });
  await ask('PUT', one, { enabled: true, config: { token: 'correct horse' } });
  await ask('POST', `${one}jobs/`, { name: 'resend' });
  await ask('GET', `${one}logs/`);
  await ask('GET', `${one}metrics/`);
  await ask('GET', `${one}delivery/`);
  await ask('GET', `${one}set_aside/`);
  await ask('DELETE', one);
  await deliveriesOfTool(world, tool.id);
  await oauthOfTool(world);
  await ask('GET', `${project}site_apps/`);
  await ask('POST', `${project}site_apps/rotate/`);
}

/** The lists of an account, for which a key is missing. */
async function choicesOfTool({ ask, organization, project }: StoryWorld): Promise<void> {
  const plugins = `${organization}pipeline_destinations/`;
  const { id } = await ask('POST', plugins, { plugin_type: 'repository', name: 'Klaviyo' });
  await ask('POST', `${project}plugin_configs/choices/`, {
    plugin: id,
    action: 'subscribeProfile',
    field: 'list_id',
    allowed_hosts: ['a.klaviyo.com'],
  });
}

/** A tool that refuses an event, which is sent again. */
async function deliveriesOfTool({ ask, harness, project }: StoryWorld, plugin: number) {
  const config = await ask('POST', `${project}plugin_configs/`, { plugin });
  const one = `${project}plugin_configs/${config.id}/`;
  const event_uuid = '019ab3c0-5e11-7c44-9d3c-2b1f6a0e8d55';
  await harness.deps.db.run(sql`
    INSERT INTO plugin_set_aside (plugin_config_id, event_uuid, event, distinct_id, mapping, reason)
    VALUES (${config.id}, ${event_uuid}, 'signed up', 'ada', 'Send', 'The receiver refused it.')`);
  const { results } = await ask('GET', `${one}set_aside/`);
  await ask('GET', `${one}set_aside/${results[0].id}/`);
  await ask('GET', `${one}sends/?event_uuid=${event_uuid}`);
  await ask('GET', `${one}delivery/metrics/`);
  const replays = `${one}replays/`;
  const { id } = await ask('POST', replays, { source: 'set_aside' });
  await ask('GET', replays);
  await ask('GET', `${replays}${id}/`);
  await ask('POST', `${replays}${id}/cancel/`);
  await ask('POST', `${one}set_aside/discard/`, { mapping: 'Send' });
  await ask('DELETE', one);
}

/** A tool that is connected by OAuth, and the application for it. */
async function oauthOfTool({ ask, organization, project }: StoryWorld): Promise<void> {
  const applications = `${organization}oauth_applications/`;
  const { id } = await ask('POST', applications, {
    tool: 'hubspot',
    client_id: '1c5e3a77',
    client_secret: 'correct horse',
  });
  await ask('GET', applications);
  await ask('GET', `${applications}${id}/`);
  await ask('PATCH', `${applications}${id}/`, { scopes: 'oauth crm.objects.contacts.write' });
  await ask('PUT', `${applications}${id}/`, { client_id: '1c5e3a77', uses_pkce: true });
  const name = 'HubSpot';
  const plugins = `${organization}pipeline_destinations/`;
  const tool = await ask('POST', plugins, { plugin_type: 'repository', name });
  const config = await ask('POST', `${project}plugin_configs/`, { plugin: tool.id });
  await ask('GET', `${project}plugin_configs/${config.id}/oauth/`);
  await ask('DELETE', `${project}plugin_configs/${config.id}/`);
  await ask('DELETE', `${applications}${id}/`);
}

/** New code of another organization's plugin waits until a person of this one accepts it. */
async function versionOfOthers({ ask, harness, project }: StoryWorld): Promise<void> {
  const other = await harness.newOrganization({ name: 'Beta' });
  const collection = 'pipeline_destinations';
  const { id, url } = await publishedPlugin(harness, other, collection);
  const set = await ask('POST', `${project}plugin_configs/`, { plugin: id, enabled: true });
  const source = packageFiles(collection, {}, { 'index.ts': 'export function onEvent() {}' });
  await other.ask('PUT', `${url}update_source/`, { source });
  await ask('POST', `${project}plugin_configs/${set.id}/accept_version/`);
}
