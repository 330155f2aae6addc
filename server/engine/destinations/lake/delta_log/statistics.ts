import type { Column } from '../../../model/models/column.ts';
import { floorDivision } from '../../formats/logical_text.ts';
import type { FileStatistics } from '../file_statistics.ts';

/** Returns the ids of columns in the statistics of a data file. */
export function columnIds(columns: readonly Pick<Column, 'name'>[]): Map<string, number> {
  return new Map(columns.map(({ name }, index) => [name, index + 1]));
}

/**
 * Returns the statistics of a data file in the log's form: JSON in a text. Only instants have
 * bounds: any other bound may be a value that names a person, and would stay in the log after an
 * erasure. They have milliseconds there, so the smallest is rounded down and the largest up.
 */
export function statisticsText(
  columns: readonly { name: string; type: string }[],
  { lower_bounds, upper_bounds, null_counts }: FileStatistics,
  records: number,
): string {
  const ids = columnIds(columns);
  const named = <Value, Told>(
    values: [number, Value][],
    told: (value: Value, type: string) => Told,
  ) => {
    const by_id = new Map(values);
    return Object.fromEntries(
      columns.flatMap(({ name, type }) => {
        const value = by_id.get(ids.get(name)!);
        const bound = value === undefined ? undefined : told(value, type);
        return bound === undefined ? [] : [[name, bound]];
      }),
    );
  };
  return JSON.stringify({
    numRecords: records,
    minValues: named(lower_bounds, (bound, type) => boundOf(bound, type, 0n)),
    maxValues: named(upper_bounds, (bound, type) => boundOf(bound, type, 999n)),
    nullCount: named(null_counts, (count) => count),
  });
}

/** Returns the number of rows in the statistics of a file; undefined if they lack it. */
export function recordsOf(stats: string | undefined): number | undefined {
  try {
    const { numRecords } = JSON.parse(stats ?? '{}') as { numRecords?: unknown };
    return typeof numRecords === 'number' ? numRecords : undefined;
  } catch {
    return undefined;
  }
}

/** A bound that the log's JSON cannot represent is omitted: readers then read the file. */
function boundOf(base64: string, type: string, raised: bigint): string | undefined {
  if (type !== 'timestamp') return undefined;
  const value = Buffer.from(base64, 'base64').readBigInt64LE();
  const milliseconds = Number(floorDivision(value + raised, 1_000n));
  if (milliseconds < first_ms || milliseconds > last_ms) return undefined;
  return new Date(milliseconds).toISOString();
}

/** Years with four digits. */
const [first_ms, last_ms] = [Date.UTC(1000, 0), Date.UTC(9999, 11, 31)];
