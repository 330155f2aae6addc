import type { Column } from '../../model/models/column.ts';
import { booleanExpression, jsonExpression, textExpression } from './expression.ts';
import { nestedExpression } from './nested.ts';

/**
 * Returns ClickHouse text of a value in its type in a binary file. The schema only depends on the
 * columns, not on the types of a query; a value that does not fit is an error. With `is_flat`,
 * lists and maps are JSON texts.
 */
export function typedValue(
  column: Column,
  index: number,
  { uuid_type, is_flat }: { uuid_type: 'String' | 'UUID'; is_flat?: true | undefined },
): string {
  const { nested } = column;
  if (nested !== undefined && is_flat !== true) return nestedExpression({ ...column, nested });
  switch (column.type) {
    case 'text':
      return typed(column, 'String', textExpression(column.expression));
    case 'json':
      return typed(column, 'String', jsonExpression(column, index, {}));
    case 'uuid':
      return typed(
        column,
        uuid_type,
        uuid_type === 'UUID' ? column.expression : `toString(${column.expression})`,
      );
    case 'timestamp':
      return typed(column, "DateTime64(6, \\'UTC\\')", column.expression);
    case 'date':
      return typed(column, 'Date32', column.expression);
    case 'decimal':
      return typed(column, 'Decimal(38, 9)', column.expression);
    case 'integer':
      return typed(column, 'Int64', column.expression);
    case 'float':
      return typed(column, 'Float64', column.expression);
    case 'boolean':
      return typed(column, 'Bool', booleanExpression(column.expression));
  }
}

function typed(column: Column, type: string, expression: string): string {
  return `accurateCast(${expression}, '${column.nullable ? `Nullable(${type})` : type}')`;
}
