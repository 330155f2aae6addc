import type { Column, Nested, NestedItem } from '../../model/models/column.ts';
import { booleanExpression, textExpression } from './expression.ts';

const types: Record<NestedItem['type'], string> = {
  uuid: 'String',
  text: 'String',
  json: 'String',
  timestamp: "DateTime64(6, \\'UTC\\')",
  date: 'Date32',
  decimal: 'Decimal(38, 9)',
  integer: 'Int64',
  float: 'Float64',
  boolean: 'Bool',
};

/**
 * Returns ClickHouse text of a list or map in the types of a file, at every level: the column alone
 * determines them.
 */
export function nestedExpression({ expression, nested }: Column & { nested: Nested }): string {
  return `CAST(${valueOf(expression, nested, 0)}, '${nameOf(nested)}')`;
}

function nameOf({ kind, of }: Nested): string {
  const scalar = of.nullable ? `Nullable(${types[of.type]})` : types[of.type];
  const inner = of.nested === undefined ? scalar : nameOf(of.nested);
  return kind === 'list' ? `Array(${inner})` : `Map(String, ${inner})`;
}

function valueOf(value: string, { kind, of }: Nested, depth: number): string {
  const name = `nested_${depth}`;
  const inner = of.nested === undefined ? scalarOf(name, of) : valueOf(name, of.nested, depth + 1);
  if (kind === 'list') return `arrayMap(${name} -> ${inner}, ${value})`;
  const key = `key_${depth}`;
  return `mapApply((${key}, ${name}) -> (${textExpression(key)}, ${inner}), ${value})`;
}

function scalarOf(value: string, { type }: NestedItem): string {
  switch (type) {
    case 'uuid':
    case 'text':
    case 'json':
      return textExpression(value);
    case 'timestamp':
      return `toDateTime64(${value}, 6, 'UTC')`;
    case 'boolean':
      return booleanExpression(value);
    case 'date':
    case 'decimal':
    case 'integer':
    case 'float':
      return value;
  }
}
