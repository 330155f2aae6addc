import { endTool, findDueTool, saveTool } from '../../erasing/erasure_tools.ts';
import type { ErasureTool } from '../../erasing/erasure_tools.ts';
import { PluginCallError } from '../../sandbox/fault.ts';
import type { ToolOutcome } from '../../sandbox/tool_outcome.ts';
import type { Delivery } from '../delivery.ts';
import { describeFailure, retrySeconds } from '../failures.ts';
import { HoldError } from '../hold.ts';
import type { LoadedTool } from '../loaded_tool.ts';
import { requireLease } from '../leases.ts';

/** After this many ids, other work of the config gets a turn. */
const ids_per_turn = 100;

/**
 * Tells the tool of the persons of an erasure, one id after the other. A refusal is recorded with
 * the reason, and the others continue. A temporary failure is retried later; a crash repeats
 * unrecorded ids. Events do not wait for it.
 */
export async function forgetPersons(delivery: Delivery): Promise<'worked' | 'idle'> {
  const { running, lease, plugin, log, signal, stopping } = delivery;
  const due = await findDueTool(running, lease.config_id);
  if (due === undefined) return 'idle';
  const { tool } = plugin;
  const at = { ...due };
  const until = Math.min(at.ids.length, at.done + ids_per_turn);
  while (tool !== undefined && at.done < until && !stopping.aborted) {
    const outcome = await outcomeOf(tool, at.ids[at.done]!, signal);
    await requireLease(running.db, lease);
    if ('reason' in outcome && outcome.kind !== 'refused') {
      const seconds = retrySeconds(running.retry_seconds, at.attempts + 1);
      const detail = log.mask(outcome.reason);
      await saveTool(running.db, { ...at, attempts: at.attempts + 1, detail }, seconds);
      log.write('WARNING', `The tool could not be told of an erasure. Sluice retries:  ${detail}`);
      return 'worked';
    }
    count(at, outcome, log.mask);
    await saveTool(running.db, at, 0);
  }
  if (at.done < at.ids.length && tool !== undefined) return 'worked';
  await endTool(running.db, at);
  log.write('INFO', `The tool was told of an erasure: ${at.told} of ${at.ids.length} ids.`);
  return 'worked';
}

/** The tool does not know such a person, which counts as deleted. */
const unknown_statuses: (number | null)[] = [404, 410];

function count(at: ErasureTool, outcome: ToolOutcome, mask: (text: string) => string): void {
  at.done += 1;
  if (outcome.kind === 'sent') at.told += 1;
  if (!('reason' in outcome)) return;
  if (unknown_statuses.includes(outcome.status)) at.told += 1;
  else {
    at.failed += 1;
    at.detail = mask(outcome.reason);
  }
}

/**
 * Tools put ids into URLs unescaped: with other characters, an id could name somebody else there.
 */
const plain_id = /^(?!\.{1,2}$)[\p{L}\p{N}._@+:=~!$*,;|-]+$/u;

async function outcomeOf(
  tool: LoadedTool,
  distinct_id: string,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const failed = (kind: 'refused' | 'retry', reason: string): ToolOutcome => ({
    kind,
    status: null,
    reason,
    retry_after: null,
  });
  if (!plain_id.test(distinct_id))
    return failed(
      'refused',
      'An id has characters with a special meaning in an address. Delete this person there.',
    );
  try {
    return await tool.forget(distinct_id, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof HoldError) return failed('retry', error.message);
    if (!(error instanceof PluginCallError)) throw error;
    const isPassing = error.is_retry || error.code === 'timeout' || error.code === 'memory';
    return failed(isPassing ? 'retry' : 'refused', describeFailure(error));
  }
}
