import { findVendor } from '../oauth/vendors.ts';
import { manifest_file } from '../packages/manifest.ts';
import type { PluginFiles } from '../plugin.ts';
import type { ToolEntry } from './catalogue.ts';
import { isHttpRequest } from './http_request/definition.ts';
import { presetsOf, templatesOf } from './mappings.ts';
import { underOurName } from './own_name.ts';
import { configFields } from './settings.ts';
import { tool_file } from './tool.ts';
import type { ToolDefinition, ToolDescription } from './tool.ts';

/** Returns the destination as the files of a plugin: for people and for a worker. */
export function toolFiles(entry: ToolEntry, given: ToolDescription, version: string): PluginFiles {
  const description = isHttpRequest(entry) ? given : underOurName(given);
  const { actions } = description;
  const settings = withoutGiven(entry.directory, description.settings);
  const definition: ToolDefinition = {
    directory: entry.directory,
    version,
    hosts: entry.hosts,
    settings,
    actions,
    presets: presetsOf(description),
    templates: templatesOf(description),
  };
  const manifest = {
    name: entry.name,
    description: entry.description,
    version,
    config: configFields(settings),
  };
  return {
    [manifest_file]: JSON.stringify(manifest, undefined, 2),
    [tool_file]: JSON.stringify(definition, undefined, 2),
  };
}

/** Removes settings that come with the access token. */
function withoutGiven(
  directory: string,
  settings: ToolDescription['settings'],
): ToolDescription['settings'] {
  const given = Object.keys(findVendor(directory)?.settings ?? {});
  return Object.fromEntries(Object.entries(settings).filter(([key]) => !given.includes(key)));
}
