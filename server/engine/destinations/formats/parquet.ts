import type { Column } from '../../model/models/column.ts';
import type { Compression } from '../../model/destination/encoding.ts';
import {
  booleanExpression,
  common_settings,
  identifier,
  jsonExpression,
  textExpression,
} from './expression.ts';
import type { FormatSelection } from './expression.ts';
import { nestedExpression } from './nested.ts';

/**
 * One Parquet file with row groups of 50,000 rows: text, uuid and json as UTF-8 strings, instants
 * as microseconds UTC (logical type), integers of 64 bits, compressed inside the file. With larger
 * row groups ClickHouse takes gigabytes (2.9 GB at its default size).
 */
export function selectParquet(columns: Column[], compression: Compression | null): FormatSelection {
  return {
    expressions: columns
      .map((column, index) => `${value(column, index)} AS ${identifier(column.name)}`)
      .join(', '),
    format: 'Parquet',
    settings: {
      ...common_settings,
      // blocks as large as row groups, so that groups end at the same rows every time and the bytes
      // repeat
      max_block_size: 50_000,
      preferred_block_size_bytes: 0,
      output_format_parquet_row_group_size: 50_000,
      output_format_parquet_string_as_string: 1,
      // several encoders wait for each other now and then, for ever, when the query fails
      output_format_parquet_parallel_encoding: 0,
      output_format_parquet_compression_method: compression ?? 'none',
    },
  };
}

function value(column: Column, index: number): string {
  const { nested } = column;
  if (nested !== undefined) return nestedExpression({ ...column, nested });
  switch (column.type) {
    case 'text':
      return typed(column, 'String', textExpression(column.expression));
    case 'json':
      return typed(column, 'String', jsonExpression(column, index, {}));
    case 'uuid':
      return typed(column, 'String', `toString(${column.expression})`);
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

/**
 * The file's schema follows from the columns alone, not from how a query happens to type them; a
 * value that does not fit fails loudly.
 */
function typed(column: Column, type: string, expression: string): string {
  return `accurateCast(${expression}, '${column.nullable ? `Nullable(${type})` : type}')`;
}
