import { reading } from '../../http/reading.ts';
import { readingPages } from '../../http/reading_pages.ts';
import type { Span } from './boundaries.ts';
import type { Clock } from './clocks.ts';
import { pathTo } from '../../http/path.ts';
import type { ExportIds } from '../export_context.ts';

/** Returns an instant in the form of the API and the address. */
export function isoInstant(at: number): string {
  return new Date(at).toISOString();
}

/** Reads the slots of a time span by one clock, in as many answers as needed. */
export function slotsOf(ids: ExportIds, { from, to }: Span, by: Clock) {
  const query = { after: isoInstant(from), before: isoInstant(to), by };
  return readingPages(
    pathTo('/api/projects/:project_id/batch_exports/:id/slots/', ids, query),
    ({ ranges }) => ranges.some(({ state }) => state === 'under_way'),
  );
}

/** The runs for one slot, latest first. */
export function runsOfSlot(ids: ExportIds, { from, to }: Span) {
  const query = {
    ordering: '-data_interval_start',
    after: isoInstant(from - 1),
    before: isoInstant(to),
    limit: 20,
  } as const;
  return reading(
    pathTo('/api/projects/:project_id/batch_exports/:batch_export_id/runs/', ids, query),
  );
}
