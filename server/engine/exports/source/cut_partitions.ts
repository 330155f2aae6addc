import { measureFor } from '../../destinations/formats/measure.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { SlicePartition } from '../../model/destination/partition.ts';
import type { Column } from '../../model/models/column.ts';
import type { StoredSlice } from '../../model/run.ts';
import { cut_columns, cutSlices, usual_most, utc } from './cut_slices.ts';
import type { SizeBound } from './measured_cut.ts';
import { partitionConditions } from './partitions.ts';
import type { Parting } from './partitions.ts';
import type { SourceQuery } from './source_query.ts';
import { ask } from './source.ts';
import type { Store } from './source.ts';

/** Most partitions of a run: each is a file, and a query that scans the partition columns. */
export const partitions_max = 1_000;

type PartitionRow = {
  parts: (string | null)[];
  inserted_from: string | null;
  inserted_to: string | null;
  records: string | number;
  bytes: string | number;
};

/** The partitioning that cuts rows of these columns; `is_whole`: a partition is one slice. */
export type Cut = { parting: Parting; columns: readonly Column[]; is_whole?: boolean };

/**
 * Cuts a source into slices whose rows share the partition, in the order of the partitions: files
 * are written one after the other. Splits a partition that is too large for a slice like
 * `cutSlices`, unless it must stay whole. Throws `too_many_partitions` for more than
 * `partitions_max`.
 */
export async function cutPartitions(
  store: Store,
  reading: SourceQuery,
  { parting, columns, is_whole = false }: Cut,
  bound: SizeBound | undefined,
  signal: AbortSignal,
  most = usual_most,
): Promise<StoredSlice[]> {
  const found = await listPartitions(store, reading, parting, bound, signal);
  const slices: StoredSlice[] = [];
  for (const { parts: values, ...row } of found) {
    const partition = parting.partitionOf(values);
    const isLarge =
      !is_whole &&
      reading.key !== undefined &&
      (Number(row.records) > most.records_max ||
        (bound !== undefined && Number(row.bytes) > bound.bytes_max));
    const parts = isLarge
      ? await cutSlices(store, within(reading, partition, columns), bound, signal, {
          ...most,
          slices_max: Math.floor(most.slices_max / found.length),
        })
      : [
          {
            inserted_from: row.inserted_from === null ? null : utc(row.inserted_from),
            inserted_to: row.inserted_to === null ? null : utc(row.inserted_to),
            records: Number(row.records),
            outcome: null,
          },
        ];
    for (const part of parts) slices.push({ ...part, number: slices.length, partition });
  }
  return slices;
}

/**
 * Without partition keys, all rows are one partition; a source that cannot be cut has no
 * insertions.
 */
async function listPartitions(
  store: Store,
  reading: SourceQuery,
  { expressions }: Parting,
  bound: SizeBound | undefined,
  signal: AbortSignal,
): Promise<PartitionRow[]> {
  const measured = bound === undefined ? undefined : measureFor(bound.encoding, bound.columns);
  const names = expressions.map((_, index) => `part_${index}`);
  const hasInsertions = reading.key !== undefined;
  const inner = [
    ...(hasInsertions ? ['inserted_at'] : []),
    ...expressions.map((expression, index) => `${expression} AS ${names[index]}`),
    `toUInt64(${measured?.expression ?? '0'}) AS row_bytes`,
  ];
  const grouped =
    names.length === 0
      ? 'HAVING count() > 0'
      : `GROUP BY ${names.join(', ')} ORDER BY ${names.join(', ')}`;
  const rows = await ask<PartitionRow>(store, reading, {
    query: `SELECT CAST([${names.join(', ')}], 'Array(Nullable(String))') AS parts,
        ${hasInsertions ? cut_columns : 'NULL AS inserted_from, NULL AS inserted_to'},
        toUInt64(count()) AS records, toUInt64(sum(row_bytes)) AS bytes
      FROM (SELECT ${inner.join(', ')} FROM ${reading.text})
      ${grouped} LIMIT ${partitions_max + 1}`,
    ...(measured === undefined ? {} : { settings: measured.settings }),
    signal,
  });
  if (rows.length > partitions_max)
    throw new NonRetryableError(
      'too_many_partitions',
      `The rows of this run belong to more than ${partitions_max} partitions, the most ` +
        'that one run writes. Choose fewer or longer partitions (partition_by), name the ' +
        'events to export (include_events), or choose a shorter interval.',
    );
  return rows;
}

/** Returns the reading restricted to a partition. */
function within(
  reading: SourceQuery,
  partition: SlicePartition,
  columns: readonly Column[],
): SourceQuery {
  const { conditions, parameters } = partitionConditions(reading, partition, columns);
  return {
    ...reading,
    text: `(SELECT * FROM ${reading.text} WHERE ${conditions.join(' AND ')})`,
    parameters: { ...reading.parameters, ...parameters },
  };
}
