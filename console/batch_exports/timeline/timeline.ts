import type { TimelineEntry } from '../../../server/api/batch_exports/timeline/schema.ts';
import { readingPages } from '../../http/reading_pages.ts';
import { pathTo } from '../../http/path.ts';
import type { ExportIds } from '../export_context.ts';

/** The filters of the timeline, and their names. */
export const entry_kinds = {
  runs: 'Runs',
  change: 'Changes',
  pause: 'Pauses',
  backfill: 'Backfills',
  notice: 'Notices',
} as const satisfies Record<TimelineEntry['type'], string>;

/** Returns the kind in the address; undefined for all. */
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
