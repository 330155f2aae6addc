import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';

/** Runs whose number of rows differs by more than this factor allow no estimate. */
const distance_max = 3;

/**
 * Estimates the bytes of so many rows in so many runs, from the export's latest completed runs:
 * each file has an overhead, and each row its bytes. Undefined unless runs of about that size are
 * known, because the overhead dominates small files.
 */
export function bytesOf(
  { records, runs }: { records: number; runs: number },
  { latest_runs }: Pick<BatchExport, 'latest_runs'>,
): number | undefined {
  const known = latest_runs.flatMap(({ status, records_completed: rows, bytes_completed: bytes }) =>
    status === 'Completed' && rows !== null && rows > 0 && bytes > 0 ? [{ rows, bytes }] : [],
  );
  if (known.length === 0 || records === 0 || runs === 0) return undefined;
  const wanted = records / runs;
  const sizes = known.map(({ rows }) => rows);
  const is_like =
    wanted * distance_max >= Math.min(...sizes) && wanted <= Math.max(...sizes) * distance_max;
  if (!is_like) return undefined;
  const { overhead, each } = lineThrough(known);
  return Math.round(runs * overhead + records * each);
}

/** Fits bytes = overhead + rows x each, without negative values. */
function lineThrough(known: { rows: number; bytes: number }[]): { overhead: number; each: number } {
  const mean = (value: (one: (typeof known)[number]) => number) =>
    known.reduce((sum, one) => sum + value(one), 0) / known.length;
  const [rows, bytes] = [mean((one) => one.rows), mean((one) => one.bytes)];
  const spread = mean((one) => (one.rows - rows) ** 2);
  if (spread === 0) return { overhead: bytes, each: 0 };
  const slope = mean((one) => (one.rows - rows) * (one.bytes - bytes)) / spread;
  const each = Math.min(Math.max(0, slope), bytes / rows);
  return { overhead: bytes - each * rows, each };
}
