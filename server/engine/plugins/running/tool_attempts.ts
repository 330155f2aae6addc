import type { ToolOutcome } from '../sandbox/tool_outcome.ts';
import type { Delivery } from './delivery.ts';
import type { PluginEvent } from './read_events.ts';
import { setAside } from './set_aside.ts';

/**
 * An attempt to send an event by one mapping. `tries` counts this one; `next` says what becomes of
 * the event there: it is done, set aside, or tried again.
 */
export type ToolAttempt = {
  event: PluginEvent;
  mapping: string;
  outcome: ToolOutcome;
  tries: number;
  next: 'done' | 'set aside' | 'again';
  /** The answer to an earlier sending was lost: the tool may have the event already. */
  is_again: boolean;
};

/**
 * Records attempts: every delivery to a tool passes here. Resolves when what was set aside is
 * stored, so that the cursor may pass it.
 */
export async function recordAttempts(
  { running, lease, plugin, log }: Pick<Delivery, 'running' | 'lease' | 'plugin' | 'log'>,
  attempts: ToolAttempt[],
): Promise<void> {
  const { count } = plugin.tool!;
  for (const { event, mapping, outcome, next, is_again } of attempts) {
    if (is_again && outcome.kind !== 'skipped') {
      count('sent_again');
      log.write(
        'WARNING',
        `Sent the event ${event.uuid} again at "${mapping}": the answer to an earlier sending was ` +
          'lost.',
      );
    }
    if (outcome.kind === 'retry' && next === 'again') count('retried');
    else if (outcome.kind === 'sent') count('delivered');
    if (next !== 'set aside' || !('reason' in outcome)) continue;
    const reason = log.mask(outcome.reason);
    const { status } = outcome;
    await setAside(running.db, lease.config_id, { event, mapping, status, reason });
    count('set_aside');
    log.write('ERROR', `Set aside the event ${event.uuid} at "${mapping}": ${reason}`);
  }
}
