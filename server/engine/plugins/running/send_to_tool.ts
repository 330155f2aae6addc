import { mappingName } from '../tools/mappings.ts';
import type { ToolMapping } from '../tools/tool.ts';
import { PluginCallError } from '../sandbox/fault.ts';
import type { ToolOutcome } from '../sandbox/tool_outcome.ts';
import type { Delivery } from './delivery.ts';
import { HoldError } from './hold.ts';
import type { LoadedTool } from './loaded_tool.ts';
import type { PluginEvent } from './read_events.ts';
import { recordAttempts } from './tool_attempts.ts';
import { ToolRetryError } from './tool_retry.ts';

type Failed = Extract<ToolOutcome, { reason: string }>;

/** After so many failures in a row another event shows whether the tool works at all. */
const failures_alone_max = 4;
const retry_seconds_max = 86_400;

/**
 * Sends an event by each mapping that has not sent it yet. An event that the tool refuses is set
 * aside with the reason; so is one that keeps failing while the tool takes others. Throws a
 * ToolRetryError where a later try may succeed, and a HoldError where the settings must change.
 */
export async function sendToTool(delivery: Delivery, event: PluginEvent): Promise<void> {
  const { running, plugin, signal } = delivery;
  const tool = plugin.tool!;
  const done = tool.done.get(event.uuid) ?? new Set<string>();
  tool.done.set(event.uuid, done);
  for (const mapping of tool.mappings) {
    const name = mappingName(mapping);
    if (done.has(name)) continue;
    const outcome = await outcomeOf(tool, event, mapping, signal);
    const isAside = 'reason' in outcome && isSetAside(tool, outcome);
    const next = isAside ? 'set aside' : 'reason' in outcome ? 'again' : 'done';
    const tries = tool.turn.failures + 1;
    await recordAttempts(delivery, [{ event, mapping: name, outcome, tries, next }]);
    if ('reason' in outcome && !isAside) throw laterError(outcome, running.clock.now());
    if (outcome.kind === 'sent') tool.turn.has_passed = true;
    done.add(name);
  }
  tool.done.delete(event.uuid);
}

/** As the tool's own answer: what its process said or failed to say. */
async function outcomeOf(
  tool: LoadedTool,
  event: PluginEvent,
  mapping: ToolMapping,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  try {
    return await tool.send(event, mapping, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof PluginCallError)) throw error;
    const isPassing = error.is_retry || error.code === 'timeout' || error.code === 'memory';
    return {
      kind: isPassing ? 'retry' : 'refused',
      status: null,
      reason: error.message,
      retry_after: null,
    };
  }
}

/** True if the event is not tried again. */
function isSetAside({ turn }: LoadedTool, { kind, status }: Failed): boolean {
  if (kind !== 'retry') return kind === 'refused';
  // A wrong pace is no fault of the event.
  return turn.failures >= failures_alone_max && turn.has_passed && status !== 429;
}

/** The error that lets the events wait. */
function laterError({ kind, reason, retry_after }: Failed, now_ms: number): Error {
  return kind === 'denied'
    ? new HoldError(
        `The tool does not accept the settings: ${reason} Check the keys in the settings. Until ` +
          'then events wait, and none is lost.',
      )
    : new ToolRetryError(reason, secondsOf(retry_after, now_ms));
}

/** Reads a Retry-After: seconds, or a date. */
function secondsOf(text: string | null, now_ms: number): number | undefined {
  if (text === null) return undefined;
  const seconds = /^\d+$/.test(text.trim()) ? Number(text) : (Date.parse(text) - now_ms) / 1_000;
  return Number.isFinite(seconds)
    ? Math.min(Math.max(Math.ceil(seconds), 1), retry_seconds_max)
    : undefined;
}

/** True if another event is to be tried before the one that failed often. */
export function wantsProbe({ turn }: LoadedTool): boolean {
  return turn.failures >= failures_alone_max && !turn.has_passed;
}
