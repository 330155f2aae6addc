import type { TimelineEntry } from '../../../server/api/batch_exports/timeline/schema.ts';
import { counted, inBytes } from '../../page/text/quantities.ts';
import { written } from '../../time/words.ts';
import { event_words } from '../notices/notice_words.ts';
import { run_states } from '../state.ts';
import type { State } from '../state.ts';

type Told = { title: string; tone: State['tone']; detail: string };

/** Returns an entry in a few words, and how much attention it needs. Times are in the time zone. */
export function entryInWords(
  { runs, change, backfill, notice }: TimelineEntry,
  zone: string,
): Told {
  if (runs !== null && runs.outage !== null) return outageInWords(runs, runs.outage, zone);
  if (runs !== null) {
    const { word, tone } = run_states[runs.status];
    const kind = runs.kind === 'scheduled' ? '' : ` (${runs.kind.replace('_', ' ')})`;
    return {
      title: `${counted(runs.count, 'run')}${kind}: ${word}`,
      tone,
      detail:
        runs.latest_error ??
        `${counted(runs.records_completed, 'row')}, ${inBytes(runs.bytes_completed)}`,
    };
  }
  if (backfill !== null) {
    const what = backfill.is_run_now ? 'Run now' : 'Backfill';
    return {
      title: backfill.has_ended ? `${what} ended: ${backfill.status}` : `${what} begun`,
      tone: backfill.has_ended ? toneOf(backfill.status) : 'muted',
      detail: counted(backfill.total_runs, 'run'),
    };
  }
  if (notice !== null)
    return { title: `Notice: ${event_words[notice.event]}`, tone: 'warn', detail: notice.detail };
  const { activity, user } = change!;
  return {
    title: activity.charAt(0).toUpperCase() + activity.slice(1).replaceAll('_', ' '),
    tone: 'muted',
    detail: user === null ? 'by the server' : `by ${user.email}`,
  };
}

/** Returns the tone of a backfill's status, which has a run's words. */
function toneOf(status: string): State['tone'] {
  const states: Partial<Record<string, State>> = run_states;
  return states[status]?.tone ?? 'muted';
}

type Runs = NonNullable<TimelineEntry['runs']>;

/** Describes an outage that has ended: when, how many attempts, why, and the later delivery. */
function outageInWords(
  { count, records_completed }: Runs,
  { began_at, delivered_at, failed_attempts, cause }: NonNullable<Runs['outage']>,
  zone: string,
): Told {
  const [began, delivered] = [began_at, delivered_at].map((at) => written(at, zone));
  const [day, clock] = delivered!.split(' ') as [string, string];
  // The day once, if it is the same.
  const until = began!.startsWith(day) ? clock : delivered!;
  const failed = `${counted(failed_attempts, 'attempt')} failed`;
  const runs = count === 1 ? '' : ` in ${counted(count, 'run')}`;
  return {
    title: `Outage from ${began} to ${until}: ${failed}`,
    tone: 'warn',
    detail:
      `${cause === null ? '' : `${cause} `}Delivered at ${clock}: ` +
      `${counted(records_completed, 'row')}${runs}.`,
  };
}
