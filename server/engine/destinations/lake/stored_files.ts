import type {
  Json,
  Manifest,
  Sink,
  Slice,
  SliceOutcome,
} from '../../model/destination/destination.ts';
import { pipeline } from 'node:stream';
import type { Readable } from 'node:stream';
import { isOfTable } from '../../model/destination/partition.ts';
import type { TableField } from '../../model/destination/partition.ts';
import { withCertainty } from '../../model/destination/errors.ts';
import type { FileStatistics } from './file_statistics.ts';
import { stampParquet } from './stamp_parquet.ts';

/** A data file in its place, not shown yet. */
export type DataFileFacts = {
  name: string;
  file: Json;
  records: number;
  bytes: number;
  sha256: string;
  statistics: FileStatistics;
};

/** Returns the fields of a slice's partition, and their values; empty without partitions. */
export function partitionOf({ partition }: Slice): {
  fields: readonly TableField[];
  values: (string | null)[];
} {
  return partition !== undefined && isOfTable(partition) ? partition : { fields: [], values: [] };
}

/** Shows the files in their place, where no reader looks for them yet. */
export function placeFiles(
  files: Sink,
  outcomes: SliceOutcome[],
  manifest: Manifest,
): Promise<void> {
  return withCertainty(
    () => files.commit(outcomes, manifest),
    () => false,
  );
}

/**
 * Stores the bytes of a Parquet file in its place, with the ids of its columns; below its partition
 * folders, if any.
 */
export async function storeFile(
  ids: ReadonlyMap<string, number>,
  files: Sink,
  { number, records }: Pick<Slice, 'number' | 'records'>,
  bytes: Readable,
  folders: string[] = [],
): Promise<DataFileFacts> {
  // A merge has rows of the table besides those of its slice, and tells no number.
  const { stage, finish } = stampParquet(ids, records === 0 ? undefined : records);
  // The reader of the stage gets the error, because `pipeline` destroys the stage with it.
  const { name, state } = await files.write(
    { number, records, partition: { fields: [], values: [], folders } },
    pipeline(bytes, stage, () => undefined),
  );
  return { name, file: state, ...finish() };
}
