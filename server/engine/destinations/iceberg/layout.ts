import type { SortedColumn } from '../../model/destination/destination.ts';
import type { TableField } from '../../model/destination/partition.ts';
import { fieldName } from '../lake/layout.ts';
import type { TableSchema } from '../lake/schema.ts';
import type { PartitionSpec, SortOrder } from '../lake/table_metadata.ts';

/**
 * Returns the fields of a spec by the names of their columns; undefined if Sluice cannot create
 * one.
 */
export function fieldsOf(schema: TableSchema, spec: PartitionSpec): TableField[] | undefined {
  const fields = spec.fields.map((field) => {
    const column = schema.fields.find(({ id }) => id === field['source-id']);
    return column === undefined ? undefined : { column: column.name, transform: field.transform };
  });
  const isOurs = (field: TableField | undefined): field is TableField =>
    field !== undefined && /^(identity|month|day|hour|bucket\[\d+\])$/.test(field.transform);
  return fields.every(isOurs) ? fields : undefined;
}

/** Finds the spec with these fields in a table. */
export function findSpec(
  schema: TableSchema,
  specs: readonly PartitionSpec[],
  fields: readonly TableField[],
): PartitionSpec | undefined {
  const wanted = JSON.stringify(fields.map((field) => [field.column, field.transform]));
  return specs.find((spec) => {
    const own = fieldsOf(schema, spec)?.map((field) => [field.column, field.transform]);
    return JSON.stringify(own) === wanted;
  });
}

/** Returns the fields for a new spec of the table. */
export function specFields(schema: TableSchema, fields: readonly TableField[]) {
  return fields.map((field) => ({
    'source-id': idOf(schema, field.column),
    name: fieldName(field),
    transform: field.transform,
  }));
}

/** Returns the fields of a sort order in the table's form. */
export function orderFields(
  schema: TableSchema,
  order: readonly SortedColumn[],
): SortOrder['fields'] {
  return order.map(({ column, is_descending }) => ({
    'source-id': idOf(schema, column),
    transform: 'identity',
    direction: is_descending ? 'desc' : 'asc',
    'null-order': 'nulls-last',
  }));
}

/** Finds the id of the order with these fields in a table. */
export function findOrder(
  orders: readonly SortOrder[],
  fields: SortOrder['fields'],
): number | undefined {
  const told = (one: SortOrder['fields']) =>
    JSON.stringify(
      one.map((field) => [
        field['source-id'],
        field.transform,
        field.direction,
        field['null-order'],
      ]),
    );
  return orders.find((one) => told(one.fields) === told(fields))?.['order-id'];
}

function idOf({ fields }: TableSchema, name: string): number {
  const found = fields.find((field) => field.name === name);
  if (found === undefined) throw new Error(`The table has no column ${name}.`);
  return found.id;
}
