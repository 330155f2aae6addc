import type { ToolOutcome } from '../sandbox/tool_outcome.ts';
import { toolProgram } from '../sandbox/tool_program.ts';
import type { PluginInstance, Sandbox } from '../sandbox/sandbox.ts';
import { toolEvent } from '../tools/event.ts';
import { isHttpRequest } from '../tools/http_request/definition.ts';
import { openHttpRequest } from '../tools/http_request/open.ts';
import { readMappings } from '../tools/mappings.ts';
import { dollar_key, mappings_key, toolSettings } from '../tools/settings.ts';
import type { ToolDefinition, ToolMapping } from '../tools/tool.ts';
import { filterOf, unwantedReason } from '../tools/wanted.ts';
import { HoldError } from './hold.ts';
import type { PluginEvent } from './read_events.ts';

/** The part of a loaded config that only tools have. */
export type LoadedTool = {
  mappings: ToolMapping[];
  send(event: PluginEvent, mapping: ToolMapping, signal: AbortSignal): Promise<ToolOutcome>;
  /** Tells the tool to forget the person who has the distinct id. */
  forget(distinct_id: string, signal: AbortSignal): Promise<ToolOutcome>;
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
      unwantedReason(mapping, event) === undefined
        ? (call(
            'send',
            sendingOf(definition, config, event, mapping),
            signal,
          ) as Promise<ToolOutcome>)
        : { kind: 'skipped' },
    forget: (distinct_id, signal) => {
      // Whether the tool got it as the one or as the other: it is nobody else's.
      const person = { userId: distinct_id, anonymousId: distinct_id };
      const settings = toolSettings(definition.settings, config);
      return call('delete', { person, settings }, signal) as Promise<ToolOutcome>;
    },
    count: (metric) => count({ [metric]: 1 }),
    done: new Map(),
    turn: { failures: 0, has_passed: false },
  };
}

/** A filter that lets every event through. */
const every_event = 'type != ""';

/**
 * The payload of a call: the event in the tool's form, with all that the call needs. The filter was
 * asked before, so the library's own, which reads some filters otherwise, is not asked again.
 */
export function sendingOf(
  definition: ToolDefinition,
  config: Record<string, unknown>,
  event: PluginEvent,
  mapping: ToolMapping,
): { event: object; settings: Record<string, unknown>; mapping: ToolMapping } {
  return {
    event: toolEvent(event, config[dollar_key] === 'send'),
    settings: toolSettings(definition.settings, config),
    mapping: filterOf(mapping) === undefined ? mapping : { ...mapping, subscribe: every_event },
  };
}

/** The place where a tool runs: in the process of its organization's tools, or, ours, here. */
export function toolPlace(
  sandbox: Pick<Sandbox, 'toolLibrary'>,
  definition: ToolDefinition,
  name: string,
): Pick<PluginInstance, 'process' | 'own'> {
  if (isHttpRequest(definition)) return { own: openHttpRequest };
  const { version } = definition;
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
  return { process: { name, program: () => toolProgram(library) } };
}
