import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { IdentityWarningReason } from '../identities/judge_merge.ts';

/**
 * What of a stored event was not done to its person, and why. `example` is plain JSON and says
 * which event it was.
 */
export type IdentityWarning = {
  reason: IdentityWarningReason;
  example: { uuid: string; event: string; distinct_id: string; other?: string };
};

/** Takes word of what was not done in a project. Must not throw, and nobody waits for it. */
export type NoteWarning = (team_id: number, warning: IdentityWarning) => void;

/**
 * The one way of these warnings to whoever keeps warnings. Counts each by its reason; the example
 * is for the log alone, and there for whoever looks for it, because it names people.
 */
export function openNoteWarning({ log, metrics }: { log: Logger; metrics: Metrics }): NoteWarning {
  return (team_id, { reason, example }) => {
    metrics.ingestion_warnings.inc({ protocol: 'persons', reason });
    log.debug({ team_id, reason, example }, 'an event did not change persons as it asked to');
  };
}
