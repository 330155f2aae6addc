import type { IncomingEvent } from './parse/event.ts';
import type { RuleCounts } from './rules/rule_counts.ts';
import { tallyOf } from './rules/tally.ts';
import type { NoteWarning } from './warnings/warning.ts';

type Noting = { warn: NoteWarning; count: RuleCounts['note'] };

/** Records the effects of the project's rules and plan on stored events. */
export function noteRules({ count, warn }: Noting, team_id: number, stored: IncomingEvent[]): void {
  for (const [source, events] of tallyOf(stored.flatMap(({ changed_by = [] }) => changed_by)))
    count(team_id, source, events);
  for (const { event, distinct_id, uuid, off_plan } of stored)
    if (off_plan !== undefined)
      warn({ team_id, reason: 'off_plan', example: { event, distinct_id, uuid, sent: off_plan } });
}

/** Records the number of events that were stored before, with the first of them. */
export function warnOfDuplicates(
  { warn }: Pick<Noting, 'warn'>,
  team_id: number,
  events: IncomingEvent[],
  fates: string[],
): void {
  const first = events[fates.indexOf('duplicate')];
  if (first === undefined) return;
  const { event, distinct_id, uuid } = first;
  warn({
    team_id,
    reason: 'duplicate',
    example: { event, distinct_id, uuid },
    events: fates.filter((fate) => fate === 'duplicate').length,
  });
}
