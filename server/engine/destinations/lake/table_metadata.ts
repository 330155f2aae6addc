import type { TableSchema } from './schema.ts';

/** A whole number of 64 bits: exact as a number, a bigint beyond 2^53. */
export type Long = number | bigint;

/** A partition field of a table: the transform of a source column. Ids begin at 1000. */
export type PartitionField = {
  'source-id': number;
  'field-id': number;
  name: string;
  transform: string;
};

/** A partition spec in the JSON of Iceberg. */
export type PartitionSpec = { 'spec-id': number; fields: PartitionField[] };

/** A sort order in the JSON of Iceberg; 0 is unsorted. */
export type SortOrder = {
  'order-id': number;
  fields: {
    'source-id': number;
    transform: string;
    direction: 'asc' | 'desc';
    'null-order': 'nulls-first' | 'nulls-last';
  }[];
};

/** A snapshot in the JSON of Iceberg. */
export type Snapshot = {
  'snapshot-id': Long;
  'parent-snapshot-id'?: Long;
  'sequence-number': Long;
  'timestamp-ms': number;
  'manifest-list': string;
  summary: { operation: string } & Record<string, string>;
  'schema-id'?: number;
  /** Only in format version 3, as is the next one. */
  'first-row-id'?: Long;
  'added-rows'?: Long;
};

/** The parts of a table's metadata that a writer reads; more exist. */
export type TableMetadata = {
  'format-version': number;
  'table-uuid': string;
  location: string;
  'last-sequence-number': Long;
  'last-column-id': number;
  'current-schema-id': number;
  schemas: TableSchema[];
  'default-spec-id': number;
  'partition-specs': PartitionSpec[];
  'last-partition-id': number;
  'sort-orders': SortOrder[];
  'default-sort-order-id': number;
  properties: Record<string, string>;
  'next-row-id'?: Long;
};

/** A table as a writer finds it; without `parent`, it has never had rows. */
export type TableState = { metadata: TableMetadata; parent: Snapshot | undefined };

/** Returns true if rows of the table have permanent ids. */
export function tracksRows(metadata: { 'format-version'?: number }): boolean {
  return metadata['format-version'] === 3;
}

/** Returns the current schema of the table. */
export function currentSchema(
  metadata: Pick<TableMetadata, 'schemas' | 'current-schema-id'>,
): TableSchema {
  const id = metadata['current-schema-id'];
  const schema = metadata.schemas.find((one) => one['schema-id'] === id);
  if (schema === undefined) throw new Error('The metadata of the table lacks its schema.');
  return schema;
}

/** Returns the spec that partitions new files. */
export function currentSpec(metadata: TableMetadata): PartitionSpec {
  return specOf(metadata, metadata['default-spec-id']);
}

/** Returns the spec with this id. */
export function specOf(metadata: TableMetadata, id: number): PartitionSpec {
  const spec = metadata['partition-specs'].find((one) => one['spec-id'] === id);
  if (spec === undefined) throw new Error('The metadata of the table lacks its partition spec.');
  return spec;
}
