import type { Column } from '../../model/models/column.ts';
import { Fault } from '../fault.ts';
import { name_characters_max } from './output_name.ts';
import { columnTypeOf, describeType, engineTypeOf, isContainer } from '../values/value_type.ts';
import type { ValueType } from '../values/value_type.ts';
import type { ResolvedColumn } from './scope.ts';

/**
 * Returns the columns of the export. Guarantee: each has a unique name of 1 to 64 characters and a
 * type that every destination knows. Throws a `Fault` for others.
 */
export function outputColumns(columns: ResolvedColumn[], is_native: boolean): Column[] {
  const names = new Set<string>();
  return columns.map(({ name, type, span }, index) => {
    if (name === '' || [...name].length > name_characters_max)
      throw new Fault(
        `The name of a column has 1 to ${name_characters_max} characters: give it a shorter ` +
          'alias with AS.',
        span,
      );
    if (names.has(name))
      throw new Fault(
        `Two columns are named \`${name}\`: give one of them an alias with AS.`,
        span,
      );
    names.add(name);
    const columnType = columnTypeOf(type, is_native);
    if (columnType === undefined)
      throw new Fault(
        type.kind === 'bytes'
          ? 'Bytes cannot be exported: write hex(...).'
          : `No destination can store ${describeType(type)} values: convert them.`,
        span,
      );
    return { name, ...columnType, expression: `column_${index + 1}` };
  });
}

// The store also has the year 0, which some destinations refuse and others read as another year.
const first_instant = "toDateTime64('0001-01-01 00:00:00', 6, 'UTC')";

/**
 * Returns ClickHouse text that converts a query's value to the type of its column; each format
 * converts the contents of arrays and maps.
 */
export function finalExpression(sql: string, type: ValueType, is_native: boolean): string {
  const column = columnTypeOf(type, is_native);
  if (column?.nested !== undefined) return sql;
  const engineType = engineTypeOf(column?.type ?? 'text', type.nullable).replaceAll("'", "\\'");
  const value = isContainer(type.kind)
    ? `toJSONString(${sql})`
    : (type.kind === 'date' && !is_native) || type.kind === 'unsigned'
      ? `toString(${sql})`
      : sql;
  const typed = `CAST(${value}, '${engineType}')`;
  return type.kind === 'timestamp'
    ? `if(${typed} < ${first_instant}, ${first_instant}, ${typed})`
    : typed;
}
