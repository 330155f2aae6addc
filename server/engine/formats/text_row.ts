import type { Column } from '../models/column.ts';
import { literal } from './expression.ts';

/** A row as texts: the value of each column, in the order of the columns, as ClickHouse writes it to text, without escapes. None is null. */
export type TextRow = { columns: Column[]; values: string[] };

/** The columns with the values of the row in the place of their expressions: what `selectFor` makes of them reads nothing and gives this row. */
export function literalColumns({ columns, values }: TextRow): Column[] {
  return columns.map((column, index) => ({
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
