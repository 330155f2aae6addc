import type { TimelineEntry } from '../../../server/api/batch_exports/timeline/schema.ts';
import { readingPages } from '../../http/reading_pages.ts';
import { counted, inBytes } from '../../page/quantities.ts';
import { run_states } from '../state.ts';
import { pathTo } from '../../http/path.ts';
import type { ExportIds } from '../export_context.ts';

/** The filters of the stream, and their names. */
export const entry_kinds = {
  runs: 'Runs',
  change: 'Changes',
  pause: 'Pauses',
  backfill: 'Backfills',
  notice: 'Notices',
} as const satisfies Record<TimelineEntry['type'], string>;

/** The kind that the address has; undefined: all. */
export function entryKind(text: string | undefined): TimelineEntry['type'] | undefined {
  return text !== undefined && Object.hasOwn(entry_kinds, text)
    ? (text as TimelineEntry['type'])
    : undefined;
}

/** Reads the events of an export, newest first. */
export function timelineOf(ids: ExportIds, type: TimelineEntry['type'] | undefined) {
  const query = { limit: 50, type: type === undefined ? undefined : [type] };
  return readingPages(
    pathTo('/api/projects/:project_id/batch_exports/:id/timeline/', ids, query),
    ({ results }) =>
      results.some(({ runs }) => runs?.status === 'Starting' || runs?.status === 'Running'),
  );
}

/** An entry in a few words, and how much it asks for attention. */
export function entryInWords({ runs, change, backfill, notice }: TimelineEntry): {
  title: string;
  tone: string;
  detail: string;
} {
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
  if (backfill !== null)
    return {
      title: backfill.has_ended ? `Backfill ended: ${backfill.status}` : 'Backfill begun',
      tone: '',
      detail: counted(backfill.total_runs, 'run'),
    };
  if (notice !== null)
    return { title: `Notice ${notice.event}`, tone: 'warn', detail: notice.detail };
  const { activity, user } = change!;
  return {
    title: activity.charAt(0).toUpperCase() + activity.slice(1).replaceAll('_', ' '),
    tone: '',
    detail: user === null ? 'by the server' : `by ${user.email}`,
  };
}
