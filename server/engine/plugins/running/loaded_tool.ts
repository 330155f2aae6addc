import { readOutcome } from '../sandbox/tool_outcome.ts';
import type { ToolOutcome } from '../sandbox/tool_outcome.ts';
import type { ToolCall } from '../oauth/tokens.ts';
import { toolProgram } from '../sandbox/tool_program.ts';
import type { PluginInstance, Sandbox } from '../sandbox/sandbox.ts';
import { findTool, toolUrl } from '../tools/catalogue.ts';
import { toolEvent } from '../tools/event.ts';
import { isHttpRequest } from '../tools/http_request/definition.ts';
import { openHttpRequest } from '../tools/http_request/open.ts';
import { mappingName, readMappings } from '../tools/mappings.ts';
import { dollar_key, mappings_key, toolSettings } from '../tools/settings.ts';
import type { ToolDefinition, ToolMapping } from '../tools/tool.ts';
import { filterOf, unwantedReason } from '../tools/wanted.ts';
import { HoldError } from './hold.ts';
import type { PluginEvent } from './read_events.ts';
import { batchingOf } from './sending/batching.ts';
import type { Batching } from './sending/batching.ts';
import { openPace } from './sending/pace.ts';
import type { Pace } from './sending/pace.ts';
import { openSent } from './sending/sent.ts';
import type { Sent } from './sending/sent.ts';
import { outcomesOf, paced } from './sending/tool_answers.ts';
import type { ToolMemory } from './sending/tool_memory.ts';
import type { WaitingRoom } from './sending/waiting_room.ts';
import type { SetAsideRoom } from './sending/set_aside.ts';

/**
 * The receiver of a loaded config's events: a tool of the catalogue, or a destination with its own
 * code.
 */
export type LoadedTool = Sent & {
  mappings: ToolMapping[];
  /** The batching of mappings that have it, by name. */
  batching: Map<string, Batching>;
  /** The limits of a turn's events: rows, bytes, and the least age of new ones. */
  reads: { rows_max: number; bytes_max: number; seconds_min: number };
  /** The pace of all requests to the tool's account, which other configs may share. */
  pace: Pace;
  /** The waiting events. */
  room: WaitingRoom;
  /** When it last accepted an event, on the clock of `performance.now()`. */
  taken: { at: number | null };
  /** True for a replay's view of the tool, with its own record of sent events. */
  is_replay: boolean;
  /** Returns the view of a replay, the same one until the replay ends. */
  replaying(replay_id: string): LoadedTool;
  /** Returns true if the mapping wants the event. */
  wants(event: PluginEvent, mapping: ToolMapping): boolean;
  /**
   * Sends events by a mapping, several in a batch, and returns the outcome of each; events at the
   * end without an outcome were not sent.
   */
  sendAll(
    events: PluginEvent[],
    mapping: ToolMapping,
    signal: AbortSignal,
    isErased?: () => Promise<boolean>,
  ): Promise<ToolOutcome[]>;
  /** Tells the tool to delete the person with the distinct id. */
  forget(distinct_id: string, signal: AbortSignal): Promise<ToolOutcome>;
  /** Counts an attempt; `delay_ms` is the time from an event's storing to its delivery. */
  count(metric: ToolMetric, delay_ms?: number): void;
  /** Number of events that may still be set aside, as far as this worker knows. */
  aside: SetAsideRoom;
};

const batch_rows_max = 1_000;
/** Events in a turn if each is a request. */
export const single_rows_max = 100;
/** Bytes of the events in a turn. */
export const read_bytes_max = 4 * 1024 * 1024;

/** The counts of every tool. */
export type ToolMetric = 'delivered' | 'retried' | 'set_aside' | 'sent_again';

/** The parts that differ between kinds of code. */
type Kind = Pick<
  LoadedTool,
  'mappings' | 'batching' | 'reads' | 'wants' | 'sendAll' | 'forget' | 'count'
>;

/** Opens a tool or code that gets events, with the state of earlier turns. */
export function openReceiver(kind: Kind, pace: Pace, memory: ToolMemory): LoadedTool {
  const names = kind.mappings.map(mappingName);
  const shared = { ...kind, pace, room: memory.room, taken: { at: memory.taken_at } };
  const aside = { left: 0 };
  const replays = new Map<string, LoadedTool>();
  const replaying = (id: string): LoadedTool => {
    const own = { ...openSent(names, null), ...shared, aside, is_replay: true, replaying };
    const view = replays.get(id) ?? own;
    replays.set(id, view);
    return view;
  };
  return { ...openSent(names, memory.begun), ...shared, aside, is_replay: false, replaying };
}

/** Opens the tool over the calls of its process; each call carries the secrets. */
export function openLoadedTool(
  definition: ToolDefinition,
  config: Record<string, unknown>,
  memory: ToolMemory & { now: () => number; shared: Pace | undefined },
  call: ToolCall,
  count: LoadedTool['count'],
): LoadedTool {
  const mappings = readMappings(config[mappings_key], definition);
  if (typeof mappings === 'string') throw new HoldError(`The mappings are wrong. ${mappings}`);
  const batching = new Map(
    mappings.flatMap((mapping) => {
      // In a batch, the library cannot tell an event that its filter excludes from an invalid one.
      const bounds = filterOf(mapping) && batchingOf(definition, mapping);
      return bounds === undefined ? [] : [[mappingName(mapping), bounds] as const];
    }),
  );
  const pace = memory.shared ?? openPace(memory.pace, () => performance.now());
  const sendAll: LoadedTool['sendAll'] = (events, mapping, signal) => {
    const batch = batching.get(mappingName(mapping));
    const sendings = events.map((event) => sendingOf(definition, config, event, mapping));
    const [first] = sendings;
    const ask = async () =>
      batch === undefined
        ? [await call('send', first, signal)]
        : call(
            'send_batch',
            { ...first, events: sendings.map(({ event }) => event), batch },
            signal,
          );
    return paced({ pace, now: memory.now }, () => outcomesOf(events.length, signal, ask));
  };
  const kind: Kind = {
    mappings,
    batching,
    reads: {
      rows_max: batching.size > 0 ? batch_rows_max : single_rows_max,
      bytes_max: read_bytes_max,
      seconds_min: 0,
    },
    wants: (event, mapping) => unwantedReason(mapping, event) === undefined,
    sendAll,
    forget: async (distinct_id, signal) => {
      // The tool got it as one or the other, and it belongs to no other person.
      const person = { userId: distinct_id, anonymousId: distinct_id };
      const settings = toolSettings(definition.settings, config);
      return readOutcome(await call('delete', { person, settings }, signal));
    },
    count,
  };
  return openReceiver(kind, pace, memory);
}

/** A filter that passes every event. */
const every_event = 'type != ""';

/**
 * Returns the payload of a call: the event in the tool's form, with everything that the call needs.
 * The filter was applied before, so the library's own, which reads some filters differently, is
 * skipped.
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

/**
 * Returns the place where a tool runs: the process of its organization's tools, or here for our
 * own.
 */
export function toolPlace(
  sandbox: Pick<Sandbox, 'toolLibrary'>,
  definition: ToolDefinition,
  name: string,
): Pick<PluginInstance, 'process' | 'own'> {
  if (isHttpRequest(definition)) return { own: openHttpRequest };
  const { version, directory } = definition;
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
  // From the catalogue, not from the files of a plugin.
  const { variables = [], opens_sockets = false } = findTool(toolUrl(directory)) ?? {};
  const [needed] = variables;
  if (needed !== undefined && !Object.hasOwn(library.variables, needed))
    throw new HoldError(
      `This server lacks a variable that the tool needs. The operator writes ${needed} ` +
        'into tools/variables.env of the data folder. Until then events wait, and none is ' +
        'lost.',
    );
  // A process caches the code that it has read, so each version of the package has its own process.
  // A tool with operator variables runs in a process of its own.
  const process = [name, version, ...(variables.length === 0 ? [] : [directory])].join(' ');
  const program = () => toolProgram(library, variables);
  return { process: { name: process, program, opens_sockets } };
}
