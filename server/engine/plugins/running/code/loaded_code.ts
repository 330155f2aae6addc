import type { NotedFetches } from '../../sandbox/network/noted_fetches.ts';
import { openNotedFetches } from '../../sandbox/network/noted_fetches.ts';
import { PluginError } from '../../plugin.ts';
import { text_length_max } from '../../sandbox/limits.ts';
import type { ToolOutcome } from '../../sandbox/tool_outcome.ts';
import type { ToolMapping } from '../../tools/tool.ts';
import { unwantedReason } from '../../tools/wanted.ts';
import type { EventChoice } from '../../tools/wanted.ts';
import { describeFailure, mayPass } from '../failures.ts';
import type { LoadedConfig } from '../loaded_plugin.ts';
import { openReceiver, read_bytes_max, single_rows_max } from '../loaded_tool.ts';
import type { LoadedTool } from '../loaded_tool.ts';
import { HostNeededError } from '../needed_hosts.ts';
import type { PluginEvent } from '../read_events.ts';
import type { Running } from '../running.ts';
import { openPace } from '../sending/pace.ts';
import { paced } from '../sending/tool_answers.ts';
import type { ToolMemory } from '../sending/tool_memory.ts';
import { openBeside } from './beside.ts';
import { exportBounds } from './export_bounds.ts';
import { sendWebhook } from './webhook.ts';

/** The methods of a plugin's code that accept events. Each is a mapping of its destination. */
const taking_methods = ['exportEvents', 'onEvent', 'composeWebhook'];

/** The plugin of a config with its own code. */
type Code = Pick<LoadedConfig, 'config' | 'allowed_hosts' | 'needsHost' | 'call'> & {
  methods: string[];
  outbound: Running['outbound'];
  /** The events that the project wants it to get; null: all. */
  choice: EventChoice | null;
};

/**
 * Opens a destination with its own code. Each event passes through its `processEvent`, which may
 * drop it. An error of the code is the outcome: Sluice retries after a RetryError or a request
 * without an answer, and sets the event aside after any other error.
 */
export function openLoadedCode(
  code: Code,
  memory: ToolMemory & { now: () => number },
  count: LoadedTool['count'],
): LoadedTool {
  const { methods, config, choice } = code;
  const pace = openPace(memory.pace, () => performance.now());
  const bounds = methods.includes('exportEvents') ? exportBounds(config) : undefined;
  const sender = openSender(code);
  const mappings = taking_methods
    .filter((name) => methods.includes(name))
    .map((partnerAction): ToolMapping => ({ partnerAction, subscribe: '', mapping: {} }));
  return openReceiver(
    {
      mappings,
      batching: new Map(bounds === undefined ? [] : [['exportEvents', bounds.batching]]),
      reads: bounds?.reads ?? {
        rows_max: single_rows_max,
        bytes_max: read_bytes_max,
        seconds_min: 0,
      },
      wants: (event, { partnerAction }) =>
        !(partnerAction === 'exportEvents' && bounds!.ignored.has(event.event)) &&
        (choice === null || unwantedReason(choice, event) === undefined),
      sendAll: (events, { partnerAction: method }, signal, isErased = async () => false) =>
        paced({ pace, now: memory.now }, () => {
          const sending = { events, signal, isErased };
          return method === 'exportEvents'
            ? sender.exportAll(sending)
            : sender.sendOne(method, sending);
        }),
      // Code has no method for it, and the erasure's report says so.
      forget: async () => ({ kind: 'skipped' }),
      count,
    },
    pace,
    memory,
  );
}

/**
 * Events, and a check whether some were erased since they were read: then nothing further begins.
 */
type Sending = { events: PluginEvent[]; signal: AbortSignal; isErased: () => Promise<boolean> };

/** Runs the code for an event. */
type Runner = {
  /** Returns the outcome of a thrown error; undefined: events were erased, and nothing is sent. */
  attempt<Result extends object>(
    sending: Sending,
    work: (noted: NotedFetches) => Promise<Result>,
  ): Promise<Result | ToolOutcome | undefined>;
  /** Returns the event after the plugin's own `processEvent`, null if it drops it. */
  processed(event: PluginEvent, signal: AbortSignal, noted: NotedFetches): Promise<unknown>;
};

function openRunner({ methods, call }: Code): Runner {
  const beside = openBeside();
  return {
    attempt: async ({ signal, isErased }, work) => {
      const noted = openNotedFetches();
      // It may have waited for others.
      const run = async () => ((await isErased()) ? undefined : work(noted));
      try {
        return await beside.run(run, isUnclear);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof PluginError)) throw error;
        return outcomeOfFailure(error, noted);
      }
    },
    processed: async (event, signal, noted) =>
      methods.includes('processEvent')
        ? call(`${event.uuid} process`, 'processEvent', event, signal, [event], noted)
        : event,
  };
}

/** Sends by the methods of the code. */
function openSender(code: Code) {
  const runner = openRunner(code);
  let exported: Promise<unknown> = Promise.resolve();
  return {
    /** Sends a batch; events at its end that do not fit into a call have no outcome. */
    exportAll: (sending: Sending): Promise<ToolOutcome[]> => {
      const own = exported.then(() => exportBatch(code, runner, sending));
      exported = own.catch(() => undefined);
      return own;
    },
    sendOne: async (method: string, sending: Sending): Promise<ToolOutcome[]> => {
      const { events, signal } = sending;
      const event = events[0]!;
      const outcome = await runner.attempt(sending, async (noted): Promise<ToolOutcome> => {
        const value = await runner.processed(event, signal, noted);
        if (value === null) return { kind: 'skipped' };
        const isWebhook = method === 'composeWebhook';
        const key = isWebhook ? `${event.uuid} webhook` : event.uuid;
        const result = await code.call(key, method, value, signal, [event], noted);
        if (isWebhook) return sendWebhook(code.outbound, code, result, signal, noted);
        return { kind: 'sent', exchanges: noted.exchanges() };
      });
      return outcome === undefined ? [] : [outcome];
    },
  };
}

async function exportBatch(code: Code, runner: Runner, sending: Sending): Promise<ToolOutcome[]> {
  const { events, signal } = sending;
  const { outcomes, given } = await processAll(runner, sending);
  const batch = [...given.keys()];
  const [first] = batch;
  if (first !== undefined) {
    const outcome = await runner.attempt(sending, async (noted): Promise<ToolOutcome> => {
      const values = [...given.values()];
      await code.call(first.uuid, 'exportEvents', values, signal, batch, noted);
      return { kind: 'sent', exchanges: noted.exchanges() };
    });
    if (outcome === undefined) return [];
    const own = 'reason' in outcome ? { ...outcome, together: batch.length } : outcome;
    for (const event of batch) outcomes.set(event, own);
  }
  return events.flatMap((event) => outcomes.get(event) ?? []);
}

/** Returns the events for one call, and the outcomes of the others. */
async function processAll(runner: Runner, sending: Sending) {
  const { events, signal } = sending;
  const outcomes = new Map<PluginEvent, ToolOutcome>();
  const given = new Map<PluginEvent, unknown>();
  let characters = 0;
  for (const event of events) {
    const made = await runner.attempt(sending, async (noted) => ({
      value: await runner.processed(event, signal, noted),
    }));
    if (made === undefined) break;
    if ('kind' in made || made.value === null)
      outcomes.set(event, 'kind' in made ? made : { kind: 'skipped' });
    else {
      characters += JSON.stringify(made.value).length + 1;
      if (given.size > 0 && characters > call_length_max) break;
      given.set(event, made.value);
    }
    // Later events of its person wait for it.
    if (outcomes.get(event)?.kind === 'retry') break;
  }
  return { outcomes, given };
}

/** Room for the brackets around a batch. */
const call_length_max = text_length_max - 1_000;

/** Failures that may belong to a parallel call: of the sandbox, or of a refused host. */
function isUnclear(error: unknown): boolean {
  return (
    error instanceof HostNeededError ||
    (error instanceof PluginError && ['timeout', 'memory'].includes(error.code))
  );
}

/** Judges the code's error, with the last answer that it got. */
function outcomeOfFailure(error: PluginError, noted: NotedFetches): ToolOutcome {
  const exchanges = noted.exchanges();
  const answer = exchanges.at(-1)?.answer ?? null;
  const answered = answer?.status ?? 0;
  const status = answered >= 400 ? answered : null;
  const asked = answer?.header_fields.find(({ name }) => name === 'retry-after')?.value ?? null;
  return {
    // A limit of the other side is no fault of the event, whatever the code throws.
    kind: mayPass(error) || status === 429 ? 'retry' : 'refused',
    status,
    reason: describeFailure(error),
    retry_after: asked,
    is_unsent: exchanges.length === 0,
    exchanges,
  };
}
