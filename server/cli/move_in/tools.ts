import { listTools, toolUrl } from '../../engine/plugins/tools/catalogue.ts';
import type { ToolEntry } from '../../engine/plugins/tools/catalogue.ts';
import type { Fields } from '../../platform/fields.ts';
import { secretReference } from './inventory.ts';
import type { FoundOrganization, FoundProject } from './inventory.ts';

/** A mapping of a source, in the form of a Sluice tool. */
export type FoundMapping = {
  name: string;
  partnerAction: string;
  subscribe: string;
  mapping: unknown;
};

/** A destination of a source for which Sluice has a tool. */
export type FoundTool = {
  name: string;
  tool: ToolEntry;
  settings: Fields;
  /** Names of settings that are secret in the source. */
  secrets?: readonly string[];
  mappings: FoundMapping[];
};

/** Matches a source's placeholder for a secret, and names of secrets. */
const masked = /[•*]{4}/;
const secret_name = /(?:key|secret|token|password|credentials?)$/i;

/** Returns the catalogue's tool for a tool of a source, by its maker's id or by a name. */
export function toolNamed(id: string | undefined, slug: string | undefined): ToolEntry | undefined {
  const plain = (text: string) => text.toLowerCase().replace(/^actions-/, '');
  return listTools().find(
    (one) =>
      one.id === id ||
      (slug !== undefined &&
        (one.slug === slug || one.directory === slug || plain(one.slug) === plain(slug))),
  );
}

/**
 * Adds a tool to a project: its plugin, once for the organization, and a disabled config. Otherwise
 * both sides would send each event.
 */
export function addTool(
  { plugins }: Pick<FoundOrganization, 'plugins'>,
  project: FoundProject,
  project_key: string,
  keyOf: (name: string) => string,
  { name, tool, settings, secrets = [], mappings }: FoundTool,
): void {
  const plugin = tool.directory.replaceAll(/[^a-z0-9]+/g, '_');
  plugins[plugin] = {
    collection: 'pipeline_destinations',
    plugin_type: 'custom',
    url: toolUrl(tool.directory),
  };
  const key = keyOf(name);
  const configs = (project.fields['plugin_configs'] ??= {}) as Fields;
  const values = Object.entries(settings).map(([field, value]): [string, unknown] => {
    const is_secret =
      typeof value === 'string' &&
      value !== '' &&
      (secrets.includes(field) || masked.test(value) || secret_name.test(field));
    return [field, is_secret ? secretReference(project_key, key, field) : value];
  });
  configs[key] = {
    plugin,
    enabled: false,
    allowed_hosts: tool.hosts.filter((host) => !host.includes('*')),
    config: {
      ...Object.fromEntries(values),
      ...(mappings.length === 0 ? {} : { mappings: JSON.stringify(mappings) }),
    },
  };
}
