import { listTools, toolUrl } from '../../engine/plugins/tools/catalogue.ts';
import type { ToolEntry } from '../../engine/plugins/tools/catalogue.ts';
import type { Fields } from '../../platform/fields.ts';
import { secretReference } from './inventory.ts';
import type { FoundOrganization, FoundProject } from './inventory.ts';

/** A mapping of a source, as a tool of ours has it. */
export type FoundMapping = {
  name: string;
  partnerAction: string;
  subscribe: string;
  mapping: unknown;
};

/** A destination of a source that is a tool here. */
export type FoundTool = {
  name: string;
  tool: ToolEntry;
  settings: Fields;
  /** Names of settings that are secret at the source. */
  secrets?: readonly string[];
  mappings: FoundMapping[];
};

/** Matches the signs that a source shows in place of a secret, and names of secrets. */
const masked = /[•*]{4}/;
const secret_name = /(?:key|secret|token|password|credentials?)$/i;

/** The tool of the catalogue that a source calls so, by its maker's id or by a name. */
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
 * Adds a tool to a project: its plugin, once for the organization, and a config that is off. Both
 * would send each event otherwise.
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
