import type { BatchExportRun } from '../../../server/api/batch_exports/runs/schema.ts';
import type { Span } from '../slots/boundaries.ts';

/** The end of an attempt. */
export type AttemptOutcome = 'failed' | 'delivered' | 'cancelled' | 'working';

/** An attempt at a run over time, in milliseconds: the waiting before it, and the work. */
export type TimedAttempt = {
  attempt: number;
  waited_from: number;
  from: number;
  to: number;
  outcome: AttemptOutcome;
};

type Timed = Pick<
  BatchExportRun,
  'status' | 'steps' | 'next_try_at' | 'finished_at' | 'last_updated_at'
>;

/** Returns the attempts of a run that the server stores, oldest first. */
export function attemptsOf(run: Timed, now_ms: number): TimedAttempt[] {
  return run.steps.map(({ attempt, began_at, waited_ms }, index) => {
    const from = Date.parse(began_at);
    const next = run.steps[index + 1];
    return {
      attempt,
      waited_from: from - waited_ms,
      from,
      // The next attempt has waited since the end of this one.
      to: next === undefined ? endOfLast(run, from, now_ms) : endBefore(next, from),
      outcome: next === undefined ? outcomeOfLast(run) : 'failed',
    };
  });
}

function endBefore({ began_at, waited_ms }: Timed['steps'][number], from: number): number {
  return Math.max(from, Date.parse(began_at) - waited_ms);
}

function endOfLast(run: Timed, from: number, now_ms: number): number {
  if (run.finished_at !== null) return Math.max(from, Date.parse(run.finished_at));
  return run.next_try_at === null
    ? Math.max(from, now_ms)
    : Math.max(from, Date.parse(run.last_updated_at));
}

function outcomeOfLast({ status, finished_at, next_try_at }: Timed): AttemptOutcome {
  if (status === 'Completed') return 'delivered';
  if (status === 'Cancelled') return 'cancelled';
  return finished_at === null && next_try_at === null ? 'working' : 'failed';
}

/** Returns the time range of all attempts, including a due next try. */
export function axisOf(
  attempts: TimedAttempt[],
  { next_try_at }: Pick<Timed, 'next_try_at'>,
): Span {
  const from = attempts[0]?.waited_from ?? 0;
  const to = Math.max(from + 1, attempts.at(-1)?.to ?? 0, Date.parse(next_try_at ?? '') || 0);
  return { from, to };
}

/** Returns the time range of an attempt's log lines: until the next attempt begins. */
export function logSpanOf(
  { steps }: Pick<BatchExportRun, 'steps'>,
  attempt: number | undefined,
): { after?: string; before?: string } {
  const index = steps.findIndex((one) => one.attempt === attempt);
  const [own, next] = [steps[index], steps[index + 1]];
  if (own === undefined) return {};
  return {
    // Earlier lines belong to the first attempt. The API excludes the instant itself.
    ...(index === 0 ? {} : { after: justBefore(own.began_at) }),
    ...(next === undefined ? {} : { before: next.began_at }),
  };
}

/**
 * Returns the instant a microsecond earlier, because the line of the attempt before may have the
 * same millisecond.
 */
function justBefore(instant: string): string {
  const microseconds = Number(instant.slice(-7, -1));
  if (microseconds > 0)
    return `${instant.slice(0, -7)}${String(microseconds - 1).padStart(6, '0')}Z`;
  return `${new Date(Date.parse(instant) - 1).toISOString().slice(0, -1)}999Z`;
}
