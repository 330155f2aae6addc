/** The facts of a row that files can be parted by, in the order of their folders. */
export const partition_keys = ['date', 'event'] as const;
/** One of them. */
export type PartitionKey = (typeof partition_keys)[number];

/** The parts that an export asks for; days are those of its time zone. */
export type Partitioning = { keys: readonly PartitionKey[]; timezone: string };

/**
 * The day and the event that all rows of a slice share, as far as files are parted by them. Null:
 * rows without one, and those whose event is no name for a folder.
 */
export type Partition = { date?: string | null; event?: string | null; timezone: string };

/** A field that the files of a table are parted by: a transform of a column, in Iceberg's words. */
export type TableField = { column: string; transform: string };

/**
 * The value of each field that all rows of a slice share, as text: a number of months, days, hours
 * or a bucket, or the value itself. Null: rows without one. `folders` are those that its file lies
 * in, below the folder of the table.
 */
export type TablePartition = {
  fields: TableField[];
  values: (string | null)[];
  folders?: string[];
};

/** The part of a delivery that a slice lies in: folders of files, or a partition of a table. */
export type SlicePartition = Partition | TablePartition;

/** Tells the partition of a table from the folders of files. */
export function isOfTable(partition: SlicePartition): partition is TablePartition {
  return 'fields' in partition;
}

/** Most bytes of an event as a folder has it: file systems take names of 255. */
export const event_bytes_max = 240;

/** The columns that the parts are taken from: a model's own, under their own names. */
export const partition_columns = {
  date: { name: 'timestamp', type: 'timestamp' },
  event: { name: 'event', type: 'text' },
} as const;
