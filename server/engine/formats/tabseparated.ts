import type { Column } from '../models/column.ts';
import {
  booleanExpression,
  common_settings,
  jsonExpression,
  textExpression,
} from './expression.ts';
import type { FormatSelection } from './expression.ts';

/**
 * The text that PostgreSQL's `COPY ... FROM STDIN` reads. What PostgreSQL cannot hold is cured: NUL is removed from text and `\u0000` from json, broken
 * UTF-8 becomes U+FFFD, lone surrogates in json become `\ufffd`, json with numbers beyond PostgreSQL's becomes a JSON string.
 */
export function selectTabSeparated(columns: Column[]): FormatSelection {
  return {
    expressions: columns.map((column, index) => value(column, index)).join(', '),
    format: 'TabSeparated',
    settings: { ...common_settings },
  };
}

function value(column: Column, index: number): string {
  switch (column.type) {
    case 'text':
      return `replaceAll(${textExpression(column.expression)}, '\\0', '')`;
    case 'json':
      return jsonExpression(column, index, { for_jsonb: true });
    case 'boolean':
      return booleanExpression(column.expression);
    case 'timestamp':
      return `toDateTime64(${column.expression}, 6, 'UTC')`;
    case 'uuid':
    case 'integer':
    case 'float':
      return column.expression;
  }
}
