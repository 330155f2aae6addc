import { badRequest } from './refusal.ts';
import { intOf, objectAt, textsAt } from './fields.ts';
import type { Long } from './fields.ts';
import type { Fields } from '../../../platform/fields.ts';
import { freshSchema } from './fresh_schema.ts';
import type { Schema } from './fresh_schema.ts';
import { boundOrder, boundSpec } from './specs.ts';
import type { PartitionSpec, SortOrder } from './specs.ts';

/** A branch or a tag. */
export type SnapshotRef = { 'snapshot-id': Long; type: 'branch' | 'tag' } & Fields;

/**
 * The metadata of a table as the Iceberg specification names it, without `snapshots` and
 * `snapshot-log`, which have their own tables. Numbers of 64 bits are exact.
 */
export type TableMetadata = {
  'format-version': number;
  'table-uuid': string;
  location: string;
  'last-sequence-number': Long;
  'last-updated-ms': number;
  'last-column-id': number;
  schemas: Schema[];
  'current-schema-id': number;
  'partition-specs': PartitionSpec[];
  'default-spec-id': number;
  'last-partition-id': number;
  'sort-orders': SortOrder[];
  'default-sort-order-id': number;
  properties: Record<string, string>;
  'current-snapshot-id'?: Long;
  refs: Record<string, SnapshotRef>;
  'metadata-log': { 'metadata-file': string; 'timestamp-ms': number }[];
  statistics?: Fields[];
  'partition-statistics'?: Fields[];
  /** Present only in format version 3. */
  'next-row-id'?: Long;
};

/** The format versions that a table can have. */
export const format_versions: readonly number[] = [1, 2, 3];
const usual_format_version = 2;

/** The parts of a new table; `schema`, `partition-spec` and `write-order` as in a request. */
export type NewTable = {
  table_uuid: string;
  location: string;
  schema: unknown;
  partition_spec?: unknown;
  write_order?: unknown;
  properties?: unknown;
  now_ms: number;
};

/**
 * Returns the metadata of a table without snapshots. Assigns new field ids from 1, level by level.
 * The caller must read them back. Throws 400 for an invalid schema, spec or order.
 */
export function newMetadata(asked: NewTable): TableMetadata {
  const { 'format-version': version, ...properties } = textsAt(
    asked.properties ?? {},
    'properties',
  );
  const format_version = version === undefined ? usual_format_version : Number(version);
  if (!format_versions.includes(format_version))
    throw badRequest(`format-version must be one of ${format_versions.join(', ')}.`);
  const { schema, last_column_id, idOf } = freshSchema(asked.schema);
  const spec = boundSpec(withSources(asked.partition_spec, idOf), schema, [], 999);
  const order = boundOrder(withSources(asked.write_order, idOf), schema, []);
  return {
    'format-version': format_version,
    'table-uuid': asked.table_uuid,
    location: asked.location,
    'last-sequence-number': 0,
    'last-updated-ms': asked.now_ms,
    'last-column-id': last_column_id,
    schemas: [schema],
    'current-schema-id': schema['schema-id'],
    'partition-specs': [{ ...spec.spec, 'spec-id': 0 }],
    'default-spec-id': 0,
    'last-partition-id': spec.last_partition_id,
    'sort-orders': [order],
    'default-sort-order-id': order['order-id'],
    properties,
    refs: {},
    'metadata-log': [],
    ...(format_version === 3 ? { 'next-row-id': 0 } : {}),
  };
}

/** Returns the spec or order with the ids of its columns replaced; undefined for undefined. */
function withSources(given: unknown, idOf: (id: number) => number): unknown {
  if (given === undefined || given === null) return { fields: [] };
  const fields = objectAt(given, 'A partition spec or sort order');
  if (!Array.isArray(fields['fields'])) return fields;
  return {
    ...fields,
    fields: fields['fields'].map((one: unknown) => {
      const field = objectAt(one, 'fields');
      return { ...field, 'source-id': idOf(intOf(field, 'source-id')) };
    }),
  };
}

/** Returns the whole metadata as JSON: the core, and the texts of its snapshots and their log. */
export function metadataText(core: string, snapshots: string, snapshot_log: string): string {
  const { head, tail } = metadataParts(core, snapshot_log);
  return head + snapshots + tail;
}

/** Returns the text before and after the snapshots. These only grow, so they come first. */
export function metadataParts(core: string, snapshot_log: string): { head: string; tail: string } {
  return {
    head: '{"snapshots":[',
    tail: `],"snapshot-log":[${snapshot_log}],${core.slice(1)}`,
  };
}
