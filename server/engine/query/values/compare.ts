import { align, coerce } from './coerce.ts';
import { Fault } from '../fault.ts';
import type { Span } from '../query_error.ts';
import { compose } from './value.ts';
import type { Value } from './value.ts';
import { describeType, isNumeric, isTextual } from './value_type.ts';
import type { Kind } from './value_type.ts';
import type { QueryWriter } from './writer.ts';

/** ClickHouse's function of each comparison. */
const functions = {
  '=': 'equals',
  '!=': 'notEquals',
  '<': 'less',
  '<=': 'lessOrEquals',
  '>': 'greater',
  '>=': 'greaterOrEquals',
} as const;

/** The expected form of a text that is compared with a kind. */
const forms: Partial<Record<Kind, string>> = {
  timestamp: "'2026-01-31 12:00:00' or '2026-01-31'",
  date: "'2026-01-31'",
  uuid: "'01234567-89ab-cdef-0123-456789abcdef'",
};
const shown_length_max = 40;

/** A comparison of the language. */
export type Comparison = keyof typeof functions;

/**
 * Compares two values. A property is read as the kind of the other side: as a number beside a
 * number (whole ones exactly), as a boolean, timestamp or uuid beside one. It is NULL if it does
 * not fit. Throws a `Fault` for kinds without a common order.
 */
export function compare(
  writer: QueryWriter,
  operator: Comparison,
  left: Value,
  right: Value,
  span: Span,
): Value {
  const apply = (one: Value, other: Value) => `${functions[operator]}(${one.sql}, ${other.sql})`;
  const nullable = left.type.nullable || right.type.nullable;
  const result = (sql: string, canBeNull = nullable) =>
    compose(sql, { kind: 'boolean', nullable: canBeNull, items: [] }, span, [left, right]);
  const exact = wholeNumbers(writer, left, right);
  const aligned = alignForComparison(writer, left, right);
  if (aligned === undefined) {
    refuseText(left, right);
    refuseText(right, left);
    throw new Fault(
      `Values of the types ${describeType(left.type)} and ${describeType(right.type)} cannot ` +
        'be compared: convert one of them.',
      span,
    );
  }
  // A property that is a whole number is compared as such: as floats, neighbours of more than 15
  // digits would be equal.
  if (exact !== undefined)
    return result(`coalesce(${apply(...exact)}, ${apply(...aligned)})`, true);
  return result(apply(...aligned), nullable || aligned.some((value) => value.type.nullable));
}

/** Throws if a text of the query cannot be read as the kind beside it. */
function refuseText({ type, literal, span }: Value, beside: Value): void {
  const form = forms[beside.type.kind];
  if (type.kind !== 'text' || typeof literal !== 'string' || form === undefined) return;
  const shown =
    literal.length > shown_length_max ? `${literal.slice(0, shown_length_max)}…` : literal;
  throw new Fault(`'${shown}' is no ${beside.type.kind}: write it as ${form}.`, span);
}

function wholeNumbers(writer: QueryWriter, left: Value, right: Value): [Value, Value] | undefined {
  if (left.type.kind === 'property' && right.type.kind === 'integer')
    return [coerce(writer, left, 'integer')!, right];
  if (right.type.kind === 'property' && left.type.kind === 'integer')
    return [left, coerce(writer, right, 'integer')!];
  return undefined;
}

function alignForComparison(
  writer: QueryWriter,
  left: Value,
  right: Value,
): [Value, Value] | undefined {
  const areNumbers = isNumeric(left.type.kind) && isNumeric(right.type.kind);
  const areTexts = isTextual(left.type.kind) && isTextual(right.type.kind);
  // ClickHouse compares numbers of different kinds by their value, without loss.
  if (areNumbers || areTexts) return [left, right];
  const aligned = align(writer, [left, right]);
  return aligned && [aligned.values[0]!, aligned.values[1]!];
}
