/** The keys that files can be partitioned by, in the order of their folders. */
export const partition_keys = ['date', 'event'] as const;
export type PartitionKey = (typeof partition_keys)[number];

/** The partitioning that an export asks for; days follow its time zone. */
export type Partitioning = { keys: readonly PartitionKey[]; timezone: string };

/**
 * The day and the event that all rows of a slice share, if files are partitioned by them. Null:
 * rows without one, and rows whose event cannot name a folder.
 */
export type Partition = { date?: string | null; event?: string | null; timezone: string };

/** A partition field of a table: a transform of a column, in Iceberg's terms. */
export type TableField = { column: string; transform: string };

/**
 * The value of each partition field that all rows of a slice share, as text: a number of months,
 * days or hours, a bucket, or the value itself. Null: rows without a value. `folders` contain the
 * slice's file, below the folder of the table.
 */
export type TablePartition = {
  fields: TableField[];
  values: (string | null)[];
  folders?: string[];
};

/** The partition of a slice: folders of files, or a partition of a table. */
export type SlicePartition = Partition | TablePartition;

/** Returns true for the partition of a table, false for folders of files. */
export function isOfTable(partition: SlicePartition): partition is TablePartition {
  return 'fields' in partition;
}

/** Most bytes of an event in a folder's name: file systems allow 255 per name. */
export const event_bytes_max = 240;

/** The columns that partition keys are computed from: a model's own, under their own names. */
export const partition_columns = {
  date: { name: 'timestamp', type: 'timestamp' },
  event: { name: 'event', type: 'text' },
} as const;
