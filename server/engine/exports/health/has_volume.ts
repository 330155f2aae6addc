import type { ClaimedRun } from '../../model/run.ts';

/**
 * Returns true if the rows of a run say something about the volume of its export. That holds for a
 * first scheduled run with its whole interval, of which no backfill delivered a part before.
 */
export function hasVolume(
  run: Pick<
    ClaimedRun,
    'id' | 'delivery_id' | 'selection' | 'data_interval_start' | 'data_interval_end'
  >,
): boolean {
  const [only, ...others] = run.selection;
  if (run.id !== run.delivery_id || only === undefined || others.length > 0) return false;
  const isAnyTime = only.event_from === null && only.event_to === null;
  return (
    isAnyTime &&
    only.inserted_from === Date.parse(run.data_interval_start) &&
    only.inserted_to === Date.parse(run.data_interval_end)
  );
}
