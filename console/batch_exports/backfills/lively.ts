import type { Backfill } from '../../../server/api/batch_exports/backfills/schema.ts';

/** Time that the workers need to end the runs of a cancelled backfill. */
const ending_ms = 60_000;

/** Returns true while the numbers of a backfill change, also after it was cancelled. */
export function isLively(
  { status, finished_at }: Pick<Backfill, 'status' | 'finished_at'>,
  now_ms: number,
): boolean {
  if (finished_at === null) return true;
  return status === 'Cancelled' && now_ms - Date.parse(finished_at) < ending_ms;
}
