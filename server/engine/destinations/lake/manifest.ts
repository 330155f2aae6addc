import { writeAvro } from './avro_file.ts';
import type { AvroSchema } from './avro_file.ts';
import type { ById, FileStatistics } from './file_statistics.ts';
import type { PartitionSpec } from './table_metadata.ts';
import { resultType } from './partition_types.ts';
import type { PartitionValue } from './partition_types.ts';
import type { TableSchema } from './schema.ts';

/**
 * A data file of a table. `path` is a full URI; `partition` follows the fields of the spec. Without
 * `spec_id`, that is the table's default; without `sort_order_id`, the rows have no order.
 */
export type DataFile = {
  path: string;
  records: number;
  bytes: number;
  partition: PartitionValue[];
  statistics: FileStatistics;
  spec_id?: number;
  sort_order_id?: number;
};

/** Returns a column of an Avro record, with the id by which readers know it. */
export function column(id: number, name: string, type: unknown): AvroSchema {
  return { name, type, 'field-id': id };
}

/** Returns a column that may be null. */
export function optional(id: number, name: string, type: unknown): AvroSchema {
  return { ...column(id, name, ['null', type]), default: null };
}

/** Returns a list with the id of its items. */
export function list(id: number, items: unknown): AvroSchema {
  return { type: 'array', items, 'element-id': id };
}

/** Maps by field id are lists of records, because keys of Avro's maps are texts. */
function mapped(key: number, value: number, type: string): AvroSchema {
  const items = {
    type: 'record',
    name: `k${key}_v${value}`,
    fields: [column(key, 'key', 'int'), column(value, 'value', type)],
  };
  return { type: 'array', logicalType: 'map', items };
}

/** The id of the first row of a file, in format version 3. */
export const first_row_id_field = optional(142, 'first_row_id', 'long');

/**
 * Returns the schema of a manifest's entries. BigQuery only finds the records of files and
 * partitions under the names `r2` and `r102`.
 */
function entrySchema(schema: TableSchema, spec: PartitionSpec, tracks_rows: boolean): AvroSchema {
  const partition = {
    type: 'record',
    name: 'r102',
    fields: spec.fields.map((field) =>
      optional(field['field-id'], field.name, partitionType(schema, field)),
    ),
  };
  const data_file = {
    type: 'record',
    name: 'r2',
    fields: [
      column(134, 'content', 'int'),
      column(100, 'file_path', 'string'),
      column(101, 'file_format', 'string'),
      column(102, 'partition', partition),
      column(103, 'record_count', 'long'),
      column(104, 'file_size_in_bytes', 'long'),
      optional(108, 'column_sizes', mapped(117, 118, 'long')),
      optional(109, 'value_counts', mapped(119, 120, 'long')),
      optional(110, 'null_value_counts', mapped(121, 122, 'long')),
      optional(125, 'lower_bounds', mapped(126, 127, 'bytes')),
      optional(128, 'upper_bounds', mapped(129, 130, 'bytes')),
      optional(132, 'split_offsets', list(133, 'long')),
      optional(140, 'sort_order_id', 'int'),
      ...(tracks_rows ? [first_row_id_field] : []),
    ],
  };
  return {
    type: 'record',
    name: 'manifest_entry',
    fields: [
      column(0, 'status', 'int'),
      optional(1, 'snapshot_id', 'long'),
      optional(3, 'sequence_number', 'long'),
      optional(4, 'file_sequence_number', 'long'),
      column(2, 'data_file', data_file),
    ],
  };
}

/** Returns the type of a partition field in Avro. */
function partitionType(schema: TableSchema, field: PartitionSpec['fields'][number]): unknown {
  const type = resultType(schema, field);
  return type === 'date' ? { type: 'int', logicalType: 'date' } : type;
}

/** The columns and partitions of a manifest's files; with `tracks_rows` in format version 3. */
export type ManifestForm = { schema: TableSchema; spec: PartitionSpec; tracks_rows: boolean };

/**
 * Returns the bytes of a manifest that adds these files in a snapshot. Its entries have no sequence
 * number and no ids of rows: they inherit those of the list, so that a retry only rewrites the
 * list.
 */
export function writeManifest(
  { schema, spec, tracks_rows }: ManifestForm,
  snapshot_id: bigint,
  files: DataFile[],
): Buffer {
  const entries = files.map((file) => ({
    status: 1,
    snapshot_id,
    sequence_number: null,
    file_sequence_number: null,
    data_file: recordOf(file, spec),
  }));
  return writeAvro(entrySchema(schema, spec, tracks_rows), entries, {
    schema: JSON.stringify(schema),
    'schema-id': String(schema['schema-id']),
    'partition-spec': JSON.stringify(spec.fields),
    'partition-spec-id': String(spec['spec-id']),
    'format-version': tracks_rows ? '3' : '2',
    content: 'data',
  });
}

function recordOf(
  { path, records, bytes, partition, statistics, sort_order_id }: DataFile,
  spec: PartitionSpec,
) {
  const counts = (values: ById<number>) =>
    values.map(([key, value]) => ({ key, value: BigInt(value) }));
  const bounds = (values: ById<string>) =>
    values.map(([key, value]) => ({ key, value: Buffer.from(value, 'base64') }));
  return {
    content: 0,
    file_path: path,
    file_format: 'PARQUET',
    partition: Object.fromEntries(
      spec.fields.map(({ name }, index) => [name, partition[index] ?? null]),
    ),
    record_count: BigInt(records),
    file_size_in_bytes: BigInt(bytes),
    column_sizes: counts(statistics.column_sizes),
    value_counts: counts(statistics.value_counts),
    null_value_counts: counts(statistics.null_counts),
    lower_bounds: bounds(statistics.lower_bounds),
    upper_bounds: bounds(statistics.upper_bounds),
    split_offsets: statistics.split_offsets.map(BigInt),
    sort_order_id: sort_order_id ?? 0,
    first_row_id: null,
  };
}
