import type { PluginCollection } from '../../engine/plugins/plugin.ts';

/** A collection: its path, and the words for its records in the activity log and in sentences. */
export type Collection = {
  name: PluginCollection;
  base: string;
  scope: string;
  noun: string;
  plural: string;
};

const mount = (
  name: PluginCollection,
  scope: string,
  noun: string,
  plural: string,
): Collection => ({
  name,
  base: `/api/organizations/:organization_id/${name}/`,
  scope,
  noun,
  plural,
});

/** The three collections, which have the same operations. */
export const collections: readonly Collection[] = [
  mount('pipeline_destinations', 'pipeline_destination', 'a destination', 'destinations'),
  mount('pipeline_frontend_apps', 'pipeline_frontend_app', 'a frontend app', 'frontend apps'),
  mount('pipeline_import_apps', 'pipeline_import_app', 'an import app', 'import apps'),
];
