import type { Column } from '../../model/models/column.ts';
import { literal } from './expression.ts';
import type { TextRow } from '../../model/models/column.ts';

/**
 * Returns the columns with the values of the row in place of their expressions: the statement of
 * `selectFor` then reads nothing and returns this row.
 */
export function literalColumns({ columns, values }: TextRow): Column[] {
  return columns.map(({ nested: _, ...column }, index) => ({
    ...column,
    expression: literalOf(column, literal(values[index] ?? '')),
  }));
}

function literalOf({ type }: Column, text: string): string {
  switch (type) {
    case 'uuid':
      return `toUUID(${text})`;
    case 'timestamp':
      return `parseDateTime64BestEffort(${text}, 6, 'UTC')`;
    case 'date':
      return `toDate32(${text})`;
    case 'decimal':
      return `toDecimal128(${text}, 9)`;
    case 'integer':
      return `toInt64(${text})`;
    case 'float':
      return `toFloat64(${text})`;
    case 'boolean':
      return `CAST(${text}, 'Bool')`;
    case 'text':
    case 'json':
      return text;
  }
}
