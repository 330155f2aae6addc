import { currentSchema } from '../../destinations/lake/table_metadata.ts';
import type { TableMetadata } from '../../destinations/lake/table_metadata.ts';

/** The parts of a table's metadata that define the columns of its files and their order. */
export type RowsLayout = Pick<
  TableMetadata,
  'schemas' | 'current-schema-id' | 'sort-orders' | 'default-sort-order-id'
> & { 'format-version'?: number };

/** The row order of a new file: its id in the table, and the columns by position. */
export type RowsOrder = {
  sort_order_id: number;
  by: { place: number; words: string }[];
};

/**
 * Returns the row order for new files of the table. An order by a transform, which only other
 * engines set, is ignored: the rows stay in the order of history.
 */
export function orderOf(metadata: RowsLayout): RowsOrder {
  const none: RowsOrder = { sort_order_id: 0, by: [] };
  const id = metadata['default-sort-order-id'];
  const order = metadata['sort-orders'].find((one) => one['order-id'] === id);
  const { fields } = currentSchema(metadata);
  const by = (order?.fields ?? []).map((field) => ({
    place: fields.findIndex((column) => column.id === field['source-id']),
    is_plain: field.transform === 'identity',
    words:
      (field.direction === 'desc' ? 'DESC' : 'ASC') +
      (field['null-order'] === 'nulls-first' ? ' NULLS FIRST' : ' NULLS LAST'),
  }));
  if (by.some(({ place, is_plain }) => place === -1 || !is_plain)) return none;
  return { sort_order_id: by.length === 0 ? 0 : id, by };
}
