import { currentSchema } from '../../destinations/lake/table_metadata.ts';
import type { TableMetadata } from '../../destinations/lake/table_metadata.ts';

/** The parts of a table's metadata that say which columns its files have, in which order. */
export type RowsLayout = Pick<
  TableMetadata,
  'schemas' | 'current-schema-id' | 'sort-orders' | 'default-sort-order-id'
> & { 'format-version'?: number };

/** The order of rows in a new file of a table: its id there, and the columns by their places. */
export type RowsOrder = {
  sort_order_id: number;
  by: { place: number; words: string }[];
};

/**
 * Returns the order that new files of the table are to have. An order by a transform of a column,
 * which only other engines set, is none for us: the rows then stay in the order of history.
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
