import type { Column } from '../../model/models/column.ts';
import { Fault } from '../fault.ts';
import { name_characters_max } from './output_name.ts';
import { columnTypeOf, describeType, engineTypeOf, isContainer } from '../values/value_type.ts';
import type { ValueType } from '../values/value_type.ts';
import type { ResolvedColumn } from './scope.ts';

/**
 * The columns of the export. Guarantee: each has a name of 1 to 64 characters that no other has,
 * and a type that every destination knows. Throws a `Fault` for others.
 */
export function outputColumns(columns: ResolvedColumn[]): Column[] {
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
    const columnType = columnTypeOf(type);
    if (columnType === undefined)
      throw new Fault(
        type.kind === 'bytes'
          ? 'Bytes cannot be exported: write hex(...).'
          : `No destination holds ${describeType(type)} values: convert them.`,
        span,
      );
    return { name, type: columnType, nullable: type.nullable, expression: `column_${index + 1}` };
  });
}

// The store also has the year 0, which some destinations refuse and others take for another year.
const first_instant = "toDateTime64('0001-01-01 00:00:00', 6, 'UTC')";

/** ClickHouse text that makes a value of the query the type of its column. */
export function finalExpression(sql: string, type: ValueType): string {
  const engineType = engineTypeOf(columnTypeOf(type) ?? 'text', type.nullable).replaceAll(
    "'",
    "\\'",
  );
  const value = isContainer(type.kind)
    ? `toJSONString(${sql})`
    : type.kind === 'date' || type.kind === 'unsigned'
      ? `toString(${sql})`
      : sql;
  const typed = `CAST(${value}, '${engineType}')`;
  return type.kind === 'timestamp'
    ? `if(${typed} < ${first_instant}, ${first_instant}, ${typed})`
    : typed;
}
