import type { Column } from '../../../model/models/column.ts';
import {
  booleanExpression,
  common_settings,
  identifier,
  jsonExpression,
  textExpression,
} from '../expression.ts';
import type { FormatSelection } from '../expression.ts';

/**
 * RFC 4180 with a header line and LF line ends: text always in quotes, `json` as text, null as an
 * empty field without quotes (an empty text is `""`).
 */
export function selectCsv(columns: Column[], marked: boolean): FormatSelection {
  return {
    expressions: columns
      .map((column, index) => `${value(column, index, marked)} AS ${identifier(column.name)}`)
      .join(', '),
    format: 'CSVWithNames',
    settings: {
      ...common_settings,
      format_csv_delimiter: ',',
      format_csv_null_representation: '',
      output_format_csv_crlf_end_of_line: 0,
    },
  };
}

function value(column: Column, index: number, marked: boolean): string {
  switch (column.type) {
    case 'text':
      return textExpression(column.expression);
    case 'json':
      return jsonExpression(column, index, { marked });
    case 'boolean':
      return booleanExpression(column.expression);
    case 'timestamp':
      return `toDateTime64(${column.expression}, 6, 'UTC')`;
    case 'uuid':
      return `toString(${column.expression})`;
    case 'date':
      return `toString(${column.expression})`;
    case 'integer':
    case 'float':
    case 'decimal':
      return column.expression;
  }
}
