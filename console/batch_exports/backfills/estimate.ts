import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';

/**
 * About how many bytes so many rows are at the destination, by the latest completed runs of the
 * export; undefined where there is none with rows.
 */
export function bytesOf(
  records: number,
  { latest_runs }: Pick<BatchExport, 'latest_runs'>,
): number | undefined {
  let [rows, bytes] = [0, 0];
  for (const { status, records_completed, bytes_completed } of latest_runs) {
    if (status !== 'Completed' || records_completed === null) continue;
    rows += records_completed;
    bytes += bytes_completed;
  }
  return rows === 0 || bytes === 0 ? undefined : Math.round((records * bytes) / rows);
}
