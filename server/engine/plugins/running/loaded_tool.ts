import { setTimeout as pause } from 'node:timers/promises';
import type { ToolOutcome } from '../sandbox/tool_outcome.ts';
import { toolProgram } from '../sandbox/tool_program.ts';
import type { PluginInstance, Sandbox } from '../sandbox/sandbox.ts';
import { toolEvent } from '../tools/event.ts';
import { mappingName, readMappings } from '../tools/mappings.ts';
import { dollar_key, mappings_key, toolSettings } from '../tools/settings.ts';
import type { ToolDefinition, ToolMapping } from '../tools/tool.ts';
import { HoldError } from './hold.ts';
import type { PluginEvent } from './read_events.ts';
import { batchingOf } from './sending/batching.ts';
import type { Batching } from './sending/batching.ts';
import { openPace } from './sending/pace.ts';
import type { Pace } from './sending/pace.ts';
import { openSent } from './sending/sent.ts';
import type { Sent } from './sending/sent.ts';
import { answersOf } from './sending/tool_answers.ts';
import type { ToolMemory } from './sending/tool_memory.ts';
import type { WaitingRoom } from './sending/waiting_room.ts';

/** The part of a loaded config that only tools have. */
export type LoadedTool = Sent & {
  mappings: ToolMapping[];
  /** The batches of mappings that have them, by name. */
  batching: Map<string, Batching>;
  /** The pace of all requests to the tool's account. */
  pace: Pace;
  /** The events that wait. */
  room: WaitingRoom;
  /** The last time at which it took an event, on the clock of `performance.now()`. */
  taken_at: number | null;
  /** Says for each event which mappings want it, in their order. */
  match(events: PluginEvent[], signal: AbortSignal): Promise<boolean[][]>;
  /** Sends events by a mapping, several in a batch, and gives the outcome of each. */
  sendAll(events: PluginEvent[], mapping: ToolMapping, signal: AbortSignal): Promise<ToolOutcome[]>;
  /** Sends one event by a mapping, as soon as the pace allows it. */
  send(event: PluginEvent, mapping: ToolMapping, signal: AbortSignal): Promise<ToolOutcome>;
  count(metric: ToolMetric): void;
};

/** The counts that every tool keeps. */
export type ToolMetric = 'delivered' | 'retried' | 'set_aside' | 'sent_again';

/** Calls a method of the tool's process. */
export type ToolCall = (method: string, payload: unknown, signal: AbortSignal) => Promise<unknown>;

/** Opens the tool over the calls of its process; secrets go along with each call. */
export function openLoadedTool(
  definition: ToolDefinition,
  config: Record<string, unknown>,
  memory: ToolMemory,
  call: ToolCall,
  count: (values: Record<string, number>) => void,
): LoadedTool {
  const mappings = readMappings(config[mappings_key], definition);
  if (typeof mappings === 'string') throw new HoldError(`The mappings are wrong. ${mappings}`);
  const batching = new Map(
    mappings.flatMap((mapping) => {
      const bounds = batchingOf(definition, mapping);
      return bounds === undefined ? [] : [[mappingName(mapping), bounds] as const];
    }),
  );
  const pace = openPace(memory.pace, () => performance.now());
  const sends_dollar = config[dollar_key] === 'send';
  const settings = toolSettings(definition.settings, config);
  const sendAll: LoadedTool['sendAll'] = (events, mapping, signal) => {
    const batch = batching.get(mappingName(mapping)) ?? null;
    const payload = {
      events: events.map((event) => toolEvent(event, sends_dollar)),
      settings,
      mapping,
      batch,
    };
    return answersOf(events.length, pace, signal, () => call('send_all', payload, signal));
  };
  return {
    ...openSent(mappings.map(mappingName), memory.begun),
    mappings,
    batching,
    pace,
    room: memory.room,
    taken_at: memory.taken_at,
    match: (events, signal) =>
      events.length === 0
        ? Promise.resolve([])
        : (call(
            'match',
            {
              events: events.map((event) => toolEvent(event, sends_dollar)),
              filters: mappings.map(({ subscribe }) => subscribe),
            },
            signal,
          ) as Promise<boolean[][]>),
    sendAll,
    send: async (event, mapping, signal) => {
      for (let ms = pace.waitMs(); ms > 0; ms = pace.waitMs())
        await pause(ms, undefined, { signal });
      return (await sendAll([event], mapping, signal))[0]!;
    },
    count: (metric) => count({ [metric]: 1 }),
  };
}

/** The payload of a trial's call: the event in the tool's form, with all that the call needs. */
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

/** The process that runs the tools of an organization. */
export function toolProcess(
  sandbox: Pick<Sandbox, 'toolLibrary'>,
  { version }: ToolDefinition,
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
  return { name, program: () => toolProgram(library) };
}
