import type { ToolOutcome } from '../../sandbox/tool_outcome.ts';
import { maskedExchanges, withoutBodies } from '../../trace/masked_exchanges.ts';
import type { SendOutcome } from '../../trace/send_outcomes.ts';
import type { Send } from '../../trace/trace.ts';
import type { Delivery } from '../delivery.ts';
import type { PluginEvent } from '../read_events.ts';
import { setAside } from './set_aside.ts';

/**
 * An attempt to send an event by one mapping. `tries` includes this one; `next` is the event's next
 * state there: done, set aside, or retried.
 */
export type ToolAttempt = {
  event: PluginEvent;
  mapping: string;
  outcome: ToolOutcome;
  tries: number;
  next: 'done' | 'set aside' | 'again';
  /** True if an earlier answer was lost: the tool may already have the event. */
  is_again: boolean;
  /** True if a person requested to send the event again. */
  is_replay: boolean;
};

type Recording = Pick<Delivery, 'running' | 'lease' | 'plugin' | 'log'>;

/**
 * Records attempts of every delivery to a tool. Resolves once events set aside are stored, so that
 * the cursor may pass them. Events of one request share the same `exchanges`.
 */
export async function recordAttempts(recording: Recording, attempts: ToolAttempt[]): Promise<void> {
  const made = attempts.filter(({ outcome }) => outcome.kind !== 'skipped');
  const requests = Map.groupBy<unknown, ToolAttempt>(
    made,
    ({ outcome, event }) => outcome.exchanges ?? event,
  );
  for (const together of requests.values()) await recordRequest(recording, together);
}

/** Records the attempts of one request. */
async function recordRequest(
  { running, lease, plugin, log }: Recording,
  attempts: ToolAttempt[],
): Promise<void> {
  const tool = plugin.tool!;
  const [{ mapping, outcome: first }] = attempts as [ToolAttempt];
  const exchanges = maskedExchanges(first.exchanges, log.mask);
  for (const { event, outcome, next, is_again, is_replay } of attempts) {
    if (is_again) {
      tool.count('sent_again');
      log.write(
        'WARNING',
        `Sent the event ${event.uuid} again at "${mapping}": the answer to an earlier sending ` +
          'was lost.',
      );
    }
    if (outcome.kind === 'sent')
      tool.count('delivered', is_replay ? undefined : delayOf(event, running.clock.now()));
    else if (outcome.kind === 'retry' && next === 'again') tool.count('retried');
    if (next !== 'set aside' || !('reason' in outcome)) continue;
    const reason = log.mask(outcome.reason);
    const { status } = outcome;
    const own = attempts.length === 1 ? exchanges : withoutBodies(exchanges, attempts.length);
    const aside = { event, mapping, status, reason, exchanges: own };
    await setAside(running.db, lease.config_id, tool.aside, aside);
    tool.count('set_aside');
    log.write('ERROR', `Set aside the event ${event.uuid} at "${mapping}": ${reason}`);
  }
  const { team_id, config_id } = lease;
  const sends = attempts.map((attempt) => sendOf(attempt, log.mask));
  running.trace.note({ team_id, config_id, mapping, sends, exchanges });
}

function sendOf(
  { event, outcome, next, is_again, is_replay }: ToolAttempt,
  mask: (text: string) => string,
): Send {
  const isFailed = 'reason' in outcome;
  return {
    event,
    outcome: next === 'set aside' ? 'set_aside' : (outcome.kind as SendOutcome),
    status: isFailed ? outcome.status : (outcome.exchanges?.at(-1)?.answer?.status ?? null),
    reason: isFailed ? mask(outcome.reason) : '',
    is_again,
    is_replay,
  };
}

function delayOf({ inserted_at }: PluginEvent, now_ms: number): number {
  return Math.max(0, now_ms - Date.parse(inserted_at));
}
