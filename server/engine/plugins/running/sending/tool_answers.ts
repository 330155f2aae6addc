import { PluginCallError } from '../../sandbox/fault.ts';
import { readOutcome } from '../../sandbox/tool_outcome.ts';
import type { ToolOutcome } from '../../sandbox/tool_outcome.ts';
import type { Pace } from './pace.ts';

type Failed = Extract<ToolOutcome, { reason: string }>;

const retry_seconds_max = 86_400;
/** Failures before anything was sent. */
const unsent = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT/;

/** Returns the outcomes of one request, from which the pace learns. */
export async function paced(
  { pace, now }: { pace: Pace; now: () => number },
  ask: () => Promise<ToolOutcome[]>,
): Promise<ToolOutcome[]> {
  const began_at = pace.begin();
  const outcomes = await ask();
  const limited = outcomes.find((one): one is Failed => 'status' in one && one.status === 429);
  if (limited !== undefined) pace.limited(began_at, retrySecondsOf(limited, now()));
  else if (outcomes.some(isAnswer)) pace.taken(began_at);
  return outcomes;
}

/**
 * Returns the outcomes of a request with this many events: the answer or the failure of the tool's
 * process.
 */
export async function outcomesOf(
  count: number,
  signal: AbortSignal,
  call: () => Promise<unknown>,
): Promise<ToolOutcome[]> {
  try {
    const given = await call();
    const list: unknown[] = Array.isArray(given) ? given : [];
    const outcomes = Array.from({ length: count }, (_, at) => readOutcome(list[at]));
    return outcomes.map(({ exchanges_at, ...one }) => {
      const exchanges = exchanges_at === undefined ? undefined : outcomes[exchanges_at]?.exchanges;
      return exchanges === undefined ? one : { ...one, exchanges };
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof PluginCallError)) throw error;
    const isPassing = error.is_retry || error.code === 'timeout' || error.code === 'memory';
    const kind = isPassing ? 'retry' : 'refused';
    const outcome: ToolOutcome = { kind, status: null, reason: error.message, retry_after: null };
    return Array.from({ length: count }, () => ({ ...outcome, together: count }));
  }
}

/** Returns true if the tool works: it answered with something other than its own failure. */
export function isAnswer(outcome: ToolOutcome): boolean {
  return outcome.kind === 'sent' || (outcome.kind === 'refused' && outcome.status !== null);
}

/** Returns true if the event may have arrived without an answer. */
export function isLost(outcome: ToolOutcome): boolean {
  if (outcome.kind !== 'retry' || outcome.is_unsent === true) return false;
  return outcome.status === null && !unsent.test(outcome.reason);
}

/** Reads a Retry-After: seconds, or a date. */
export function retrySecondsOf({ retry_after }: Failed, now_ms: number): number | undefined {
  if (retry_after === null) return undefined;
  const text = retry_after.trim();
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - now_ms) / 1_000;
  return Number.isFinite(seconds)
    ? Math.min(Math.max(Math.ceil(seconds), 1), retry_seconds_max)
    : undefined;
}
