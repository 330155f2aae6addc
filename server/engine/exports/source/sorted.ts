import type { SortedColumn } from '../../model/destination/destination.ts';
import type { Column } from '../../model/models/column.ts';
import { sort_settings } from '../../destinations/formats/expression.ts';
import { typedValue } from '../../destinations/formats/typed_value.ts';
import type { SourceQuery } from './source_query.ts';

/**
 * Returns the reading with its rows in the order of these columns, by the values in the file, nulls
 * last; equal rows keep their order. The store sorts large results on disk.
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
