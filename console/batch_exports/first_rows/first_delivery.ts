import type { BatchExportRun } from '../../../server/api/batch_exports/runs/schema.ts';

/** After so many scheduled deliveries, or so much time, an export is no longer new. */
const deliveries_max = 3;
const new_for_ms = 7 * 86_400_000;

type Run = Pick<BatchExportRun, 'kind' | 'repeats' | 'records_completed'>;

/**
 * Returns the newest run that delivered rows (`completed` is newest first), while the export is
 * new. An older one may name a table that is gone, so nothing adds up their rows.
 */
export function firstDelivery<One extends Run>(
  completed: One[],
  created_at: string,
  now: number,
): One | undefined {
  const filled = completed.filter(({ records_completed }) => (records_completed ?? 0) > 0);
  const by_schedule = filled.filter(
    ({ kind, repeats }) => kind === 'scheduled' && repeats === null,
  );
  if (by_schedule.length > deliveries_max || now - Date.parse(created_at) > new_for_ms)
    return undefined;
  return filled[0];
}
