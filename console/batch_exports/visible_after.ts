import type { ExportOverview } from '../../server/api/batch_exports/overview/schema.ts';
import { inTime } from '../page/text/quantities.ts';

/** Ages of the newest and the oldest row when readers could see them. */
type Ages = Pick<ExportOverview, 'newest_row_seconds' | 'oldest_row_seconds'>;

/** Returns how long after ingestion rows are visible; undefined if that is unknown. */
export function visibleAfter({ newest_row_seconds, oldest_row_seconds }: Ages): string | undefined {
  if (newest_row_seconds === null || oldest_row_seconds === null) return undefined;
  const [newest, oldest] = [inTime(newest_row_seconds), inTime(oldest_row_seconds)];
  return `${newest === oldest ? newest : `${newest} to ${oldest}`} after they arrive`;
}
