import { PluginError } from '../plugin.ts';
import type { PluginFiles } from '../plugin.ts';
import { isFields } from '../../../platform/fields.ts';
import { parseJson } from '../../../platform/json/parse_json.ts';

/** The file that makes a plugin a tool: a destination of the library, as data. */
export const tool_file = 'destination.json';

/** A field of settings or of an action, as the library describes it. */
export type ToolField = {
  label?: string;
  description?: string;
  type?: string;
  required?: boolean | object;
  multiple?: boolean;
  choices?: (string | { value: string; label: string })[];
  default?: unknown;
  /** True: the tool gives choices; of an object for its keys. */
  dynamic?: boolean;
  /** The parts of an object. */
  properties?: Record<string, ToolField>;
  /** True for a field that people cannot use. */
  unsafe_hidden?: boolean;
  depends_on?: { match?: 'any' | 'all'; conditions: ToolCondition[] };
};
type ToolCondition = { fieldKey: string; operator: 'is' | 'is_not'; value: unknown };

/** A mapping from events to a destination: an action, its filter, and the fields of its payload. */
export type ToolMapping = {
  name?: string;
  partnerAction: string;
  subscribe: string;
  /** The share of persons whose events it sends; all of them if absent. */
  sample_percent?: number;
  /** The consent category that an event must have. */
  consent?: string;
  mapping: Record<string, unknown>;
};

/** A destination of the library as `describe` returns it. */
export type ToolDescription = {
  name: string;
  slug?: string;
  description?: string;
  scheme: string | null;
  is_audience: boolean;
  settings: Record<string, ToolField>;
  actions: Record<
    string,
    {
      title?: string;
      description?: string;
      subscribe?: string;
      /** The treatment of existing records. */
      sync_mode?: string;
      fields: Record<string, ToolField>;
    }
  >;
  presets: (Partial<ToolMapping> & { type: string })[];
};

/** The content of `destination.json`. */
export type ToolDefinition = {
  directory: string;
  version: string;
  /** Hosts that its code names; `*.` stands for a part that settings decide. */
  hosts: string[];
  settings: ToolDescription['settings'];
  actions: ToolDescription['actions'];
  /** Mappings that its makers propose at first; many propose none. */
  presets: ToolMapping[];
  /** A mapping for each action. */
  templates: ToolMapping[];
};

/** Returns the destination in the files of a plugin; undefined: they are code. */
export function toolOf(files: PluginFiles): ToolDefinition | undefined {
  if (!Object.hasOwn(files, tool_file)) return undefined;
  const read = parseJson(files[tool_file]!);
  // The name must be a folder of the library, so that nothing else can be opened.
  if (
    !isFields(read) ||
    typeof read['directory'] !== 'string' ||
    !/^[a-z0-9][a-z0-9_-]*$/i.test(read['directory']) ||
    !isFields(read['settings']) ||
    !isFields(read['actions']) ||
    !Array.isArray(read['hosts'])
  )
    throw new PluginError('invalid', `${tool_file} is not what the catalogue installs.`, {
      file: tool_file,
    });
  return read as ToolDefinition;
}

/** Returns the code of a tool's instance: the destination that its process loads. */
export function toolCode(directory: string): string {
  return JSON.stringify({ directory });
}
