import type { PluginConfigRow, PluginLogRow } from '../../server/api/plugin_configs/schema.ts';
import type { PluginRow } from '../../server/api/plugins/schema.ts';
import { pageQuery } from '../http/page_number.ts';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** The three collections by the API's names, and the purpose of their plugins. */
export const collections = [
  {
    value: 'pipeline_destinations',
    label: 'Destinations',
    purpose: 'A destination gets the events of a project as they arrive.',
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

/** The place of a plugin: its collection in the organization, and the current project. */
export type Place = { project_id: string; organization_id: string; collection: Collection };

/** Returns the collection of the name; the first one for an unknown name. */
export function collectionOf(name: unknown): Collection {
  return collections.find(({ value }) => value === name)?.value ?? 'pipeline_destinations';
}

/** Returns the activity log's name for a plugin of the collection. */
export function activityScope(collection: Collection): string {
  return collection.slice(0, -1);
}

/** Returns the path of an organization's plugins in a collection. */
export function pluginsPath(organization_id: string, collection: Collection) {
  return pathTo(`/api/organizations/:organization_id/${collection}/`, { organization_id });
}

/** Returns the path of a plugin. */
export function pluginPath(organization_id: string, collection: Collection, id: string) {
  return pathTo(`/api/organizations/:organization_id/${collection}/:id/`, { organization_id, id });
}

/** A page of the plugins that an organization can use, or of those that no project has enabled. */
export function plugins(
  organization_id: string,
  collection: Collection,
  page: number,
  show?: 'unused',
) {
  const part = show === undefined ? '' : 'unused/';
  return reading(
    pathTo(
      `/api/organizations/:organization_id/${collection}/${part}`,
      { organization_id },
      pageQuery(page),
    ),
  );
}

/** One plugin. */
export function pluginOf(organization_id: string, collection: Collection, id: string) {
  return reading(pluginPath(organization_id, collection, id));
}

/** Reads the server's catalogue of a collection. */
export function catalogue(organization_id: string, collection: Collection) {
  return reading(
    pathTo(
      `/api/organizations/:organization_id/${collection}/repository/`,
      { organization_id },
      { limit: 1000 },
    ),
  );
}

/** Reads the metrics of a plugin in a project, as often as its log. */
export function pluginMetrics(project_id: string, id: number) {
  return reading(pathTo(`${configs}:id/metrics/`, { project_id, id }, { limit: 1000 }), {
    is_busy: () => true,
  });
}

/** The files of a plugin. */
export function sourceOf(organization_id: string, collection: Collection, id: string) {
  return reading(
    pathTo(`/api/organizations/:organization_id/${collection}/:id/source/`, {
      organization_id,
      id,
    }),
  );
}

const configs = '/api/projects/:project_id/plugin_configs/';

/** Returns the path of a plugin config. */
export function configPath(project_id: string, id: number) {
  return pathTo(`${configs}:id/`, { project_id, id });
}

/** All plugins that a project has configured. */
export function pluginConfigs(project_id: string) {
  return reading(pathTo(configs, { project_id }, { limit: 1000 }));
}

/**
 * Returns the plugin as a project runs it: for another organization's plugin, the accepted version.
 */
export function runIn(plugin: PluginRow, config: PluginConfigRow | undefined): PluginRow {
  return config === undefined || config.accepted_version === null ? plugin : config.plugin_info;
}

/** A plugin config of a project, read as often as its log, because both must agree. */
export function pluginConfigOf(project_id: string, id: number) {
  return reading(configPath(project_id, id), { is_busy: ({ enabled }) => enabled });
}

/** Returns true for code that is written here, not fetched from an origin. */
export function isOwnCode({ plugin_type }: Pick<PluginRow, 'plugin_type'>): boolean {
  return plugin_type === 'source' || plugin_type === 'inline';
}

/** Severity of a line in a plugin's log. */
export type LogLevel = PluginLogRow['level'];

/** Reads the log of a plugin in a project, newest first; of one level, or of all. */
export function pluginLogs(project_id: string, id: number, level: LogLevel | undefined) {
  return reading(pathTo(`${configs}:id/logs/`, { project_id, id }, { limit: 100, level }), {
    is_busy: () => true,
  });
}

type Read = { queryKey: string[] };

/** Returns all readings of a plugin, which are repeated after its code has changed. */
export function readsOfPlugin(
  { project_id, organization_id, collection }: Place,
  plugin_id: number,
  config_id: number | undefined,
): [Read, ...Read[]] {
  const id = String(plugin_id);
  return [
    pluginOf(organization_id, collection, id),
    sourceOf(organization_id, collection, id),
    pluginConfigs(project_id),
    ...(config_id === undefined ? [] : [pluginConfigOf(project_id, config_id)]),
  ];
}
