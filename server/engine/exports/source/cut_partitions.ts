import { measureFor } from '../../destinations/formats/measure.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { Partition, Partitioning } from '../../model/destination/partition.ts';
import type { StoredSlice } from '../../model/run.ts';
import { cut_columns, cutSlices, slice_records_default, slices_max, utc } from './cut_slices.ts';
import type { SizeBound } from './measured_cut.ts';
import { partitionConditions, partitionExpression } from './partitions.ts';
import type { SourceQuery } from './source_query.ts';
import { ask } from './source.ts';
import type { Store } from './source.ts';

/**
 * Most partitions of a run: each is a file, and a question to the store that goes through the
 * columns that the rows are parted by.
 */
export const partitions_max = 1_000;

type PartitionRow = {
  date?: string | null;
  event?: string | null;
  inserted_from: string;
  inserted_to: string;
  records: string | number;
  bytes: string | number;
};

/**
 * Cuts a source into slices whose rows share the partition, in the order of its folders: a file is
 * read and written after the other. One that is too large for a slice is cut as `cutSlices` does.
 * Throws `too_many_partitions` for more than `partitions_max`.
 */
export async function cutPartitions(
  store: Store,
  reading: SourceQuery,
  partitioning: Partitioning,
  bound: SizeBound | undefined,
  signal: AbortSignal,
): Promise<StoredSlice[]> {
  const found = await listPartitions(store, reading, partitioning, bound, signal);
  const slices: StoredSlice[] = [];
  for (const { date, event, ...row } of found) {
    const partition: Partition = {
      ...(date === undefined ? {} : { date }),
      ...(event === undefined ? {} : { event }),
      timezone: partitioning.timezone,
    };
    const isLarge =
      Number(row.records) > slice_records_default ||
      (bound !== undefined && Number(row.bytes) > bound.bytes_max);
    const parts = isLarge
      ? await cutSlices(store, within(reading, partition), bound, signal, {
          slices_max: Math.floor(slices_max / found.length),
        })
      : [
          {
            inserted_from: utc(row.inserted_from),
            inserted_to: utc(row.inserted_to),
            records: Number(row.records),
            outcome: null,
          },
        ];
    for (const part of parts) slices.push({ ...part, number: slices.length, partition });
  }
  return slices;
}

async function listPartitions(
  store: Store,
  reading: SourceQuery,
  { keys, timezone }: Partitioning,
  bound: SizeBound | undefined,
  signal: AbortSignal,
): Promise<PartitionRow[]> {
  const measured = bound === undefined ? undefined : measureFor(bound.encoding, bound.columns);
  const parts = keys.map((key) => `${partitionExpression(reading, key, timezone)} AS part_${key}`);
  const names = keys.map((key) => `part_${key}`).join(', ');
  const rows = await ask<PartitionRow>(store, reading, {
    query: `SELECT ${keys.map((key) => `part_${key} AS ${key}`).join(', ')}, ${cut_columns},
        toUInt64(count()) AS records, toUInt64(sum(row_bytes)) AS bytes
      FROM (SELECT inserted_at, ${parts.join(', ')},
        toUInt64(${measured?.expression ?? '0'}) AS row_bytes FROM ${reading.text})
      GROUP BY ${names} ORDER BY ${names} LIMIT ${partitions_max + 1}`,
    ...(measured === undefined ? {} : { settings: measured.settings }),
    signal,
  });
  if (rows.length > partitions_max)
    throw new NonRetryableError(
      'too_many_partitions',
      `The rows of this run belong to more than ${partitions_max} files, which is the most that ` +
        'one run writes. Part them by date alone (partition_by), name the events to export ' +
        '(include_events), or choose a shorter interval.',
    );
  return rows;
}

/** The reading without the rows of other partitions. */
function within(reading: SourceQuery, partition: Partition): SourceQuery {
  const { conditions, parameters } = partitionConditions(reading, partition);
  return {
    ...reading,
    text: `(SELECT * FROM ${reading.text} WHERE ${conditions.join(' AND ')})`,
    parameters: { ...reading.parameters, ...parameters },
  };
}
