import type {
  PluginConfigRow,
  PluginLogRow,
  PluginMetricRow,
} from '../../server/api/plugin_configs/schema.ts';
import type {
  CatalogueItem,
  PluginRow,
  PluginWithSource,
} from '../../server/api/plugins/schema.ts';
import type { Static } from 'typebox';
import type { Listed } from '../http/list.ts';
import { pageQuery } from '../http/page_number.ts';
import { reading } from '../http/reading.ts';
import { organizationPath } from '../signed_in/organization.ts';

/** The three collections, under the names of the API, and what the plugins of each are for. */
export const collections = [
  {
    value: 'pipeline_destinations',
    label: 'Destinations',
    purpose: 'A destination gets the events of a project as they come in.',
  },
  {
    value: 'pipeline_frontend_apps',
    label: 'Frontend apps',
    purpose: 'A frontend app is a script for web pages.',
  },
  {
    value: 'pipeline_import_apps',
    label: 'Import apps',
    purpose: 'An import app brings events in from elsewhere.',
  },
] as const;

/** One of the three collections. */
export type Collection = (typeof collections)[number]['value'];

/** Where a plugin is: its collection in the organization, and the project that looks at it. */
export type Place = { project_id: string; organization_id: string; collection: Collection };

/** The collection of the name; the first for another one. */
export function collectionOf(name: unknown): Collection {
  return collections.find(({ value }) => value === name)?.value ?? 'pipeline_destinations';
}

/** What the activity log calls a plugin of the collection. */
export function activityScope(collection: Collection): string {
  return collection.slice(0, -1);
}

/** The plugins of an organization in the API, or with an id one of them. */
export function pluginPath(organization_id: string, collection: Collection, id?: string): string {
  const path = `${organizationPath(organization_id)}${collection}/`;
  return id === undefined ? path : `${path}${encodeURIComponent(id)}/`;
}

/** One page of the plugins that an organization can use, or of those that no project has on. */
export function plugins(
  organization_id: string,
  collection: Collection,
  page: number,
  show?: 'unused',
) {
  const path = `${pluginPath(organization_id, collection)}${show === undefined ? '' : 'unused/'}`;
  return reading<Pick<Listed<PluginRow>, 'count' | 'results'>>(`${path}${pageQuery(page)}`);
}

/** One plugin. */
export function pluginOf(organization_id: string, collection: Collection, id: string) {
  return reading<PluginRow>(pluginPath(organization_id, collection, id));
}

/** What the server's catalogue has for a collection. */
export function catalogue(organization_id: string, collection: Collection) {
  const path = `${pluginPath(organization_id, collection)}repository/`;
  return reading<Pick<Listed<Static<typeof CatalogueItem>>, 'count' | 'results'>>(
    `${path}?limit=1000`,
  );
}

/** What a plugin has counted in a project. */
export function pluginMetrics(project_id: string, id: number) {
  return reading<Listed<PluginMetricRow>>(`${configPath(project_id, id)}metrics/?limit=1000`);
}

/** The files of a plugin. */
export function sourceOf(organization_id: string, collection: Collection, id: string) {
  return reading<Static<typeof PluginWithSource>>(
    `${pluginPath(organization_id, collection, id)}source/`,
  );
}

/** The plugins as a project uses them, in the API; or with an id one of them. */
export function configPath(project_id: string, id?: number): string {
  const path = `/api/projects/${encodeURIComponent(project_id)}/plugin_configs/`;
  return id === undefined ? path : `${path}${id}/`;
}

/** All plugins that a project has configured. */
export function pluginConfigs(project_id: string) {
  return reading<Listed<PluginConfigRow>>(`${configPath(project_id)}?limit=1000`);
}

/** The plugin as a project runs it: of another organization's, the version that was accepted. */
export function runIn(plugin: PluginRow, config: PluginConfigRow | undefined): PluginRow {
  return config === undefined || config.accepted_version === null ? plugin : config.plugin_info;
}

/** A plugin as a project uses it. */
export function pluginConfigOf(project_id: string, id: number) {
  return reading<PluginConfigRow>(configPath(project_id, id));
}

/** What a plugin wrote in a project, newest first; of one level, or of all. */
export function pluginLogs(project_id: string, id: number, level: string | undefined) {
  const query = new URLSearchParams({ limit: '100', ...(level === undefined ? {} : { level }) });
  return reading<Listed<PluginLogRow>>(`${configPath(project_id, id)}logs/?${query.toString()}`, {
    is_busy: () => true,
  });
}

/** All that shows something of the plugin: what is read anew once its code has changed. */
export function readsOfPlugin(
  { project_id, organization_id, collection }: Place,
  plugin_id: number,
  config_id: number | undefined,
): { queryKey: string[] }[] {
  const id = String(plugin_id);
  return [
    pluginOf(organization_id, collection, id),
    sourceOf(organization_id, collection, id),
    pluginConfigs(project_id),
    ...(config_id === undefined ? [] : [pluginConfigOf(project_id, config_id)]),
  ];
}
