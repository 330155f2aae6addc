import type { Fields } from '../../../platform/fields.ts';
import { intOf, listOf, objectAt, textOf } from './fields.ts';
import { fieldIdsOf } from './fresh_schema.ts';
import type { Schema } from './fresh_schema.ts';
import { badRequest } from './refusal.ts';

/** One field of a partition spec: a column and its transform. */
export type PartitionField = {
  'source-id': number;
  'field-id': number;
  name: string;
  transform: string;
} & Fields;
/** The partitions of a table's files. */
export type PartitionSpec = { 'spec-id': number; fields: PartitionField[] };
/** The sort order of rows in a file; 0 is unsorted. */
export type SortOrder = { 'order-id': number; fields: Fields[] };

const transform = /^(?:identity|void|year|month|day|hour|(?:bucket|truncate)\[\d{1,9}\])$/;

/**
 * Returns a spec whose fields have ids: the given id, the id of the same field in an earlier spec,
 * or a new one after the last. Throws 400 if the spec does not fit the schema.
 */
export function boundSpec(
  given: unknown,
  schema: Schema,
  earlier: readonly PartitionSpec[],
  last_partition_id: number,
): { spec: Omit<PartitionSpec, 'spec-id'>; last_partition_id: number } {
  const columns = new Set(fieldIdsOf(schema));
  const known = earlier.flatMap(({ fields }) => fields);
  const taken = new Set<number>();
  const names = new Set<string>();
  let last = last_partition_id;
  const fields = listOf(objectAt(given, 'spec'), 'fields').map((one) => {
    const field = objectAt(one, 'A partition field');
    const source = sourceOf(field, columns);
    const [name, by] = [textOf(field, 'name'), transformOf(field)];
    if (names.has(name)) throw badRequest(`The spec has the partition name ${name} twice.`);
    names.add(name);
    const own = field['field-id'] === undefined ? undefined : intOf(field, 'field-id');
    const same = known.find(
      (before) =>
        before['source-id'] === source && before.transform === by && !taken.has(before['field-id']),
    );
    const id = own ?? same?.['field-id'] ?? last + 1;
    if (taken.has(id)) throw badRequest(`The spec has the partition field id ${id} twice.`);
    taken.add(id);
    last = Math.max(last, id);
    return { ...field, 'source-id': source, 'field-id': id, name, transform: by };
  });
  return { spec: { fields }, last_partition_id: last };
}

/**
 * Returns a sort order that fits the schema, with the id of an equal one or a new id. Throws 400.
 */
export function boundOrder(
  given: unknown,
  schema: Schema,
  earlier: readonly SortOrder[],
): SortOrder {
  const columns = new Set(fieldIdsOf(schema));
  const fields = listOf(objectAt(given, 'sort-order'), 'fields').map((one) => {
    const field = objectAt(one, 'A sort field');
    const direction = textOf(field, 'direction');
    const nulls = textOf(field, 'null-order');
    if (!['asc', 'desc'].includes(direction) || !['nulls-first', 'nulls-last'].includes(nulls))
      throw badRequest('A sort field has a direction (asc, desc) and a null-order.');
    return {
      'source-id': sourceOf(field, columns),
      transform: transformOf(field),
      direction,
      'null-order': nulls,
    };
  });
  if (fields.length === 0) return { 'order-id': 0, fields };
  const same = earlier.find((one) => isEqual(one.fields, fields));
  const id = same?.['order-id'] ?? Math.max(0, ...earlier.map((one) => one['order-id'])) + 1;
  return { 'order-id': id, fields };
}

function sourceOf(field: Fields, columns: Set<number>): number {
  const id = intOf(field, 'source-id');
  if (!columns.has(id)) throw badRequest(`The schema has no field with the id ${id}.`);
  return id;
}

function transformOf(field: Fields): string {
  const text = textOf(field, 'transform');
  if (!transform.test(text)) throw badRequest(`There is no transform ${text}.`);
  return text;
}

/** Returns true for JSON values that only differ in the order of keys. */
export function isEqual(one: unknown, other: unknown): boolean {
  return sorted(one) === sorted(other);
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'bigint'
      ? `${inner}n`
      : typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
  );
}
