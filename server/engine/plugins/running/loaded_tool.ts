import { readOutcome } from '../sandbox/tool_outcome.ts';
import type { ToolOutcome } from '../sandbox/tool_outcome.ts';
import { toolProgram } from '../sandbox/tool_program.ts';
import type { PluginInstance, Sandbox } from '../sandbox/sandbox.ts';
import { findTool, toolUrl } from '../tools/catalogue.ts';
import { toolEvent } from '../tools/event.ts';
import { readMappings } from '../tools/mappings.ts';
import { dollar_key, mappings_key, toolSettings } from '../tools/settings.ts';
import type { ToolDefinition, ToolMapping } from '../tools/tool.ts';
import { HoldError } from './hold.ts';
import type { PluginEvent } from './read_events.ts';

/** The part of a loaded config that only tools have. */
export type LoadedTool = {
  mappings: ToolMapping[];
  send(event: PluginEvent, mapping: ToolMapping, signal: AbortSignal): Promise<ToolOutcome>;
  count(metric: 'delivered' | 'retried' | 'set_aside'): void;
  /** The mappings that have sent an event whose others have not. */
  done: Map<string, Set<string>>;
  /** Failures in a row when the turn began, and whether the tool has taken an event since. */
  turn: { failures: number; has_passed: boolean };
};

type Call = (method: string, payload: unknown, signal: AbortSignal) => Promise<unknown>;

/** Opens the tool over the calls of its process; secrets go along with each call. */
export function openLoadedTool(
  definition: ToolDefinition,
  config: Record<string, unknown>,
  call: Call,
  count: (values: Record<string, number>) => void,
): LoadedTool {
  const mappings = readMappings(config[mappings_key], definition);
  if (typeof mappings === 'string') throw new HoldError(`The mappings are wrong. ${mappings}`);
  return {
    mappings,
    send: async (event, mapping, signal) =>
      readOutcome(await call('send', sendingOf(definition, config, event, mapping), signal)),
    count: (metric) => count({ [metric]: 1 }),
    done: new Map(),
    turn: { failures: 0, has_passed: false },
  };
}

/** The payload of a call: the event in the tool's form, with all that the call needs. */
export function sendingOf(
  definition: ToolDefinition,
  config: Record<string, unknown>,
  event: PluginEvent,
  mapping: ToolMapping,
): object {
  return {
    event: toolEvent(event, config[dollar_key] === 'send'),
    settings: toolSettings(definition.settings, config),
    mapping,
  };
}

/**
 * The process that runs the tools of an organization; one that gets variables of the operator is
 * alone in its own.
 */
export function toolProcess(
  sandbox: Pick<Sandbox, 'toolLibrary'>,
  { version, directory }: ToolDefinition,
  name: string,
): NonNullable<PluginInstance['process']> {
  const library = sandbox.toolLibrary();
  if (library === undefined)
    throw new HoldError(
      'This server no longer has the package of tools. The operator installs it again; the ' +
        'catalogue shows the command. Until then events wait, and none is lost.',
    );
  if (library.version !== version)
    throw new HoldError(
      `This server has version ${library.version} of the package of tools now, not ${version}. ` +
        'Upgrade this plugin. Until then events wait, and none is lost.',
    );
  // As the catalogue says, and not the files of a plugin.
  const { variables = [], opens_sockets = false } = findTool(toolUrl(directory)) ?? {};
  const [needed] = variables;
  if (needed !== undefined && !Object.hasOwn(library.variables, needed))
    throw new HoldError(
      `This server does not have what the tool needs. The operator writes ${needed} into ` +
        'tools/variables.env of the data folder. Until then events wait, and none is lost.',
    );
  return {
    name: variables.length === 0 ? name : `${name} ${directory}`,
    program: () => toolProgram(library, variables),
    opens_sockets,
  };
}
