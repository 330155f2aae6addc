import type { Delivery, Json, SliceOutcome } from '../../../model/destination/destination.ts';
import type { TableField } from '../../../model/destination/partition.ts';
import type { MergeKeys } from '../../../model/destination/write_mode.ts';
import type { FileStatistics } from '../file_statistics.ts';

/** A stored merged slice: the files that its rows were merged with, and the resulting file. */
export type MergedSlice = {
  table_uuid: string;
  spec_id: number;
  sort_order_id: number;
  /** The fields of its partition; slices of older servers lack them. */
  fields?: TableField[];
  partition: (string | null)[];
  /** The file of the new rows, in the folder of the attempt; other attempts have none. */
  came: string;
  is_here: boolean;
  /** URIs of the files of the partition, all of which the new one replaces. */
  base: string[];
  /** The number of these whose rows had ids, which the new file keeps; absent in older slices. */
  numbered?: number;
  /** Null: no new row is greater than the existing one. */
  file: {
    number: number;
    name: string;
    file: Json;
    records: number;
    bytes: number;
    sha256: string;
    statistics: FileStatistics;
  } | null;
};

/** Returns true if the export's rule merges the rows of a delivery. */
export function isMerging<One extends Pick<Delivery, 'merge'>>(
  delivery: One,
): delivery is One & { merge: MergeKeys } {
  return delivery.merge !== undefined && delivery.merge !== null;
}

/** Returns the merged slice of an outcome. */
export function stateOf({ state }: SliceOutcome): MergedSlice {
  return state as MergedSlice;
}

/** Returns the data file of an outcome in its place's form; none if nothing changed. */
export function fileOutcomes(outcome: SliceOutcome): SliceOutcome[] {
  const { file } = stateOf(outcome);
  if (file === null) return [];
  const { number, name, records, bytes, sha256 } = file;
  return [{ number, name, records, bytes, sha256, state: file.file }];
}
