import type { Column } from '../../../model/models/column.ts';
import {
  booleanExpression,
  common_settings,
  jsonExpression,
  literal,
  textExpression,
} from '../expression.ts';
import type { FormatSelection } from '../expression.ts';

/**
 * One JSON object per line, with keys in the order of the columns; `json` columns are nested,
 * instants are ISO 8601 with Z and microseconds, not-a-number is null. One `concat` creates the
 * line, which is written raw: twice as fast as ClickHouse's JSONEachRow, which cannot nest stored
 * text (see docs/decisions).
 */
export function selectJsonLines(columns: Column[], marked: boolean): FormatSelection {
  const parts = columns.flatMap((column, index) => [
    literal(`${index === 0 ? '{' : ','}${JSON.stringify(column.name)}:`),
    value(column, index, marked),
  ]);
  return {
    expressions: `concat(${[...parts, "'}'"].join(', ')})`,
    format: 'TSVRaw',
    settings: {
      ...common_settings,
      output_format_json_escape_forward_slashes: 0,
      output_format_json_quote_denormals: 0,
      output_format_json_quote_64bit_integers: 0,
    },
  };
}

function value(column: Column, index: number, marked: boolean): string {
  const orNull = (text: string) => `ifNull(${text}, 'null')`;
  switch (column.type) {
    case 'uuid':
      return orNull(`concat('"', toString(${column.expression}), '"')`);
    case 'text':
      return orNull(`toJSONString(${textExpression(column.expression)})`);
    case 'json':
      return orNull(jsonExpression(column, index, { one_line: true, marked }));
    case 'timestamp':
      return orNull(
        `concat('"', replaceOne(toString(toDateTime64(${column.expression}, 6, 'UTC'), ` +
          `'UTC'), ' ', 'T'), 'Z"')`,
      );
    case 'date':
      return orNull(`concat('"', toString(${column.expression}), '"')`);
    case 'integer':
    case 'decimal':
      return orNull(`toString(${column.expression})`);
    case 'float':
      return orNull(`toJSONString(${column.expression})`);
    case 'boolean':
      return orNull(`toJSONString(${booleanExpression(column.expression)})`);
  }
}
