import { readAvro, writeAvro } from './avro_file.ts';
import type { AvroSchema } from './avro_file.ts';
import { column, list, optional } from './manifest.ts';
import type { PartitionSummary } from './partition_types.ts';

/**
 * A manifest in a list. Bounds of partitions are single values of Iceberg; `content` is 0 for data
 * and 1 for deletes.
 */
export type ListedManifest = {
  manifest_path: string;
  manifest_length: bigint;
  partition_spec_id: number;
  content: number;
  sequence_number: bigint;
  min_sequence_number: bigint;
  added_snapshot_id: bigint;
  added_files_count: number;
  existing_files_count: number;
  deleted_files_count: number;
  added_rows_count: bigint;
  existing_rows_count: bigint;
  deleted_rows_count: bigint;
  partitions: PartitionSummary[] | null;
  key_metadata: Buffer | null;
  /** The first id for rows of files without ids; null in format v2 and for deletes. */
  first_row_id: bigint | null;
  /**
   * The number of rows without ids, if this server knows it; otherwise it counts all rows of its
   * files.
   */
  unnumbered_rows?: bigint;
};

const summary = {
  type: 'record',
  name: 'r508',
  fields: [
    column(509, 'contains_null', 'boolean'),
    optional(518, 'contains_nan', 'boolean'),
    optional(510, 'lower_bound', 'bytes'),
    optional(511, 'upper_bound', 'bytes'),
  ],
};

const schema: AvroSchema & { fields: AvroSchema[] } = {
  type: 'record',
  name: 'manifest_file',
  fields: [
    column(500, 'manifest_path', 'string'),
    column(501, 'manifest_length', 'long'),
    column(502, 'partition_spec_id', 'int'),
    column(517, 'content', 'int'),
    column(515, 'sequence_number', 'long'),
    column(516, 'min_sequence_number', 'long'),
    column(503, 'added_snapshot_id', 'long'),
    column(504, 'added_files_count', 'int'),
    column(505, 'existing_files_count', 'int'),
    column(506, 'deleted_files_count', 'int'),
    column(512, 'added_rows_count', 'long'),
    column(513, 'existing_rows_count', 'long'),
    column(514, 'deleted_rows_count', 'long'),
    optional(507, 'partitions', list(508, summary)),
    optional(519, 'key_metadata', 'bytes'),
    optional(520, 'first_row_id', 'long'),
  ],
};

const schema_v2: AvroSchema = {
  ...schema,
  fields: schema.fields.filter(({ name }) => name !== 'first_row_id'),
};

/** The snapshot of a list; `first_row_id` only in format version 3. */
export type ListedSnapshot = {
  id: bigint;
  parent_id: bigint | null;
  sequence_number: bigint;
  first_row_id?: bigint;
};

/**
 * Returns the manifests, with ids for unnumbered rows from the first one on, and the id after the
 * last.
 */
export function numbered(
  manifests: ListedManifest[],
  first_row_id: bigint,
): { listed: ListedManifest[]; next: bigint } {
  let next = first_row_id;
  const listed = manifests.map((one) => {
    if (one.content !== 0 || one.first_row_id !== null) return one;
    const first = next;
    next += one.unnumbered_rows ?? one.added_rows_count + one.existing_rows_count;
    return { ...one, first_row_id: first };
  });
  return { listed, next };
}

/**
 * Returns the bytes of a manifest list. Its header contains the format version: readers that miss
 * it read deletes as data.
 */
export function writeManifestList(
  { id, parent_id, sequence_number, first_row_id }: ListedSnapshot,
  manifests: ListedManifest[],
): Buffer {
  const is_v2 = first_row_id === undefined;
  return writeAvro(is_v2 ? schema_v2 : schema, manifests, {
    'snapshot-id': String(id),
    'parent-snapshot-id': String(parent_id),
    'sequence-number': String(sequence_number),
    ...(is_v2 ? {} : { 'first-row-id': String(first_row_id) }),
    'format-version': is_v2 ? '2' : '3',
  });
}

/**
 * Reads a manifest list of any writer of format v2 or v3. Fields are found by their ids, because
 * other writers use other names for some of them.
 */
export function readManifestList(bytes: Buffer): ListedManifest[] {
  const file = readAvro(bytes);
  if (file.meta['format-version'] === '1')
    throw new Error('Sluice does not write to tables whose manifest list has the format v1.');
  const names = new Map(
    (file.schema['fields'] as AvroSchema[]).map((field) => [field['field-id'], field['name']]),
  );
  return file.records.map((record) => {
    const values = record as Record<string, unknown>;
    return Object.fromEntries(
      schema.fields.map((field) => [
        field['name'],
        values[String(names.get(field['field-id']))] ?? null,
      ]),
    ) as ListedManifest;
  });
}
