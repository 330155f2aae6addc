import type { BatchExportRun } from '../../../server/api/batch_exports/runs/schema.ts';
import type { Slots } from '../../../server/api/batch_exports/slots/schema.ts';
import { reading } from '../../http/reading.ts';
import { readingPages } from '../../http/reading_pages.ts';
import type { Span } from './boundaries.ts';

/** An instant as the API and the address take it. */
export function isoInstant(at: number): string {
  return new Date(at).toISOString();
}

/** What became of the slots of a part of time, in as many answers as it takes. */
export function slotsOf(path: string, { from, to }: Span) {
  const query = new URLSearchParams({ after: isoInstant(from), before: isoInstant(to) });
  return readingPages<Slots>(`${path}slots/?${query.toString()}`, ({ ranges }) =>
    ranges.some(({ state }) => state === 'under_way'),
  );
}

/** The runs for one slot, latest first. */
export function runsOfSlot(path: string, { from, to }: Span) {
  const query = new URLSearchParams({
    ordering: '-data_interval_start',
    after: isoInstant(from - 1),
    before: isoInstant(to),
    limit: '20',
  });
  return reading<{ results: BatchExportRun[] }>(`${path}runs/?${query.toString()}`);
}
