import type { SortedColumn } from '../../model/destination/destination.ts';
import type { Column } from '../../model/models/column.ts';
import { sort_settings } from '../../destinations/formats/expression.ts';
import { typedValue } from '../../destinations/formats/typed_value.ts';
import type { SourceQuery } from './source_query.ts';

/**
 * The reading with its rows in the order of these columns, as a file has their values, nulls last;
 * rows that are equal keep their own order. The store sorts on disk if they are many.
 */
export function sorted(
  reading: SourceQuery,
  columns: readonly Column[],
  order: readonly SortedColumn[],
): SourceQuery {
  if (order.length === 0) return reading;
  const words = order.map(({ column, is_descending }) => {
    const index = columns.findIndex(({ name }) => name === column);
    const value = typedValue(columns[index]!, index, { uuid_type: 'String' });
    return `${value} ${is_descending ? 'DESC' : 'ASC'} NULLS LAST`;
  });
  return {
    ...reading,
    order: `${words.join(', ')}, ${reading.order}`,
    settings: { ...sort_settings, ...reading.settings },
  };
}
