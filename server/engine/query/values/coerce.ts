import { datedText } from './dated_text.ts';
import { isUuid } from '../../../platform/uuid.ts';
import { parseDate, parseInstant } from './literals.ts';
import type { Value } from './value.ts';
import { compose } from './value.ts';
import { isNumeric, isTextual, typeOf, unify } from './value_type.ts';
import type { Kind, ValueType } from './value_type.ts';
import type { LiteralType, QueryWriter } from './writer.ts';

/**
 * ClickHouse text that reads a property, Nullable(String), as another kind: NULL if it does not
 * fit.
 */
const property_readers: Partial<Record<Kind, (sql: string) => string>> = {
  float: (sql) => `toFloat64OrNull(${sql})`,
  decimal: (sql) => `toDecimal128OrNull(${sql}, 9)`,
  integer: (sql) => `toInt64OrNull(${sql})`,
  unsigned: (sql) => `toUInt64OrNull(${sql})`,
  boolean: (sql) => `multiIf(equals(${sql}, 'true'), true, equals(${sql}, 'false'), false, NULL)`,
  timestamp: (sql) => `parseDateTime64BestEffortOrNull(${datedText(sql)}, 6, 'UTC')`,
  date: (sql) => `toDate32(parseDateTime64BestEffortOrNull(${datedText(sql)}, 6, 'UTC'))`,
  uuid: (sql) => `toUUIDOrNull(${sql})`,
};

const widenings: Partial<Record<`${Kind} ${Kind}`, (sql: string) => string>> = {
  'integer float': (sql) => `toFloat64(${sql})`,
  'integer decimal': (sql) => `toDecimal128(${sql}, 9)`,
  'unsigned decimal': (sql) => `toDecimal128(${sql}, 9)`,
  'unsigned float': (sql) => `toFloat64(${sql})`,
  'boolean float': (sql) => `toFloat64(${sql})`,
  'boolean integer': (sql) => `toInt64(${sql})`,
  'date timestamp': (sql) => `toDateTime64(${sql}, 6, 'UTC')`,
  'json text': (sql) => sql,
  'property text': (sql) => sql,
};

/**
 * Returns the value as one of the kind, without loss. Integers become floats, dates become
 * timestamps, and properties become any kind (NULL if they do not fit). Texts of the query itself
 * become instants, dates and uuids. Undefined if only an explicit conversion by the author would
 * do.
 */
export function coerce(writer: QueryWriter, value: Value, kind: Kind): Value | undefined {
  const { type, sql } = value;
  const as = (text: string, nullable = type.nullable) =>
    compose(text, { kind, nullable, items: [] }, value.span, [value]);
  if (type.kind === kind) return kind === 'boolean' ? as(`toBool(${sql})`) : value;
  if (type.kind === 'null') return as(sql, true);
  const read = type.kind === 'property' ? property_readers[kind] : undefined;
  if (read !== undefined) return as(read(sql), true);
  const widen = widenings[`${type.kind} ${kind}`];
  if (widen !== undefined) return as(widen(sql));
  if (kind === 'unsigned' && isWholeLiteral(value))
    return { ...as(writer.parameter('UInt64', String(value.literal))), literal: value.literal };
  const literal =
    type.kind === 'text' && typeof value.literal === 'string'
      ? literalOf(value.literal, kind)
      : undefined;
  return literal && as(writer.parameter(literal.type, literal.content));
}

/** Returns true for an unsigned whole number of the query itself. */
function isWholeLiteral({ type, literal }: Value): boolean {
  return type.kind === 'integer' && typeof literal === 'bigint' && literal >= 0n;
}

/**
 * Returns true if literals beside this kind are converted to it: texts beside timestamps, dates and
 * uuids, whole numbers beside unsigned ones.
 */
export function takesLiterals(kind: Kind): boolean {
  return kind === 'timestamp' || kind === 'date' || kind === 'uuid' || kind === 'unsigned';
}

/**
 * Returns the value as one of the type, inside arrays, tuples and maps too. Undefined if that is
 * impossible.
 */
export function coerceTo(writer: QueryWriter, value: Value, type: ValueType): Value | undefined {
  if (type.items.length === 0 || value.type.kind === 'null')
    return coerce(writer, value, type.kind);
  if (value.type.kind !== type.kind || value.type.items.length !== type.items.length)
    return undefined;
  const isSame = value.type.items.every((item, index) => isSameType(item, type.items[index]!));
  if (isSame) return value;
  if (type.kind !== 'array') return undefined;
  const name = writer.name('l');
  const item = coerceTo(
    writer,
    { ...value, sql: name, type: value.type.items[0]! },
    type.items[0]!,
  );
  return (
    item && compose(`arrayMap(${name} -> ${item.sql}, ${value.sql})`, type, value.span, [value])
  );
}

function isSameType(one: ValueType, other: ValueType): boolean {
  return (
    one.kind === other.kind &&
    one.kind !== 'boolean' &&
    one.items.length === other.items.length &&
    one.items.every((item, index) => isSameType(item, other.items[index]!))
  );
}

/**
 * Returns the values as ones of the one type that can hold them all; undefined if there is none.
 */
export function align(
  writer: QueryWriter,
  values: Value[],
): { values: Value[]; type: ValueType } | undefined {
  const special = values.find(({ type }) => takesLiterals(type.kind))?.type.kind;
  const fitted = values.map((value) =>
    special !== undefined && value.literal !== undefined
      ? (coerce(writer, value, special) ?? value)
      : value,
  );
  const type = unify(fitted.map((value) => value.type));
  if (type === undefined) return undefined;
  const aligned = fitted.map((value) => coerceTo(writer, value, type));
  return aligned.every((value) => value !== undefined) ? { values: aligned, type } : undefined;
}

/**
 * Returns the value as the condition of WHERE and the like: a boolean, a number other than 0, a
 * property that is true. Undefined for anything else.
 */
export function coerceCondition(writer: QueryWriter, value: Value): Value | undefined {
  if (value.type.kind === 'boolean') return value;
  if (isNumeric(value.type.kind))
    return compose(`notEquals(${value.sql}, 0)`, { ...value.type, kind: 'boolean' }, value.span, [
      value,
    ]);
  return coerce(writer, value, 'boolean');
}

/**
 * Returns the value as a number of its own kind; properties become floats, booleans 0 or 1.
 * Undefined for anything else.
 */
export function coerceNumber(writer: QueryWriter, value: Value): Value | undefined {
  if (value.type.kind === 'boolean') return coerce(writer, value, 'integer');
  return isNumeric(value.type.kind) ? value : coerce(writer, value, 'float');
}

/**
 * Returns the content of a text literal as ClickHouse's literal of another kind; undefined if the
 * text does not fit.
 */
export function literalOf(
  text: string,
  kind: Kind,
): { type: LiteralType; content: string } | undefined {
  const instant = kind === 'timestamp' ? parseInstant(text) : undefined;
  if (instant !== undefined) return { type: "DateTime64(6, 'UTC')", content: instant };
  const date = kind === 'date' ? parseDate(text) : undefined;
  if (date !== undefined) return { type: 'Date32', content: date };
  return kind === 'uuid' && isUuid(text)
    ? { type: 'UUID', content: text.toLowerCase() }
    : undefined;
}

/** Returns the source value of an array, which cannot be NULL: an empty text for NULL. */
export function withoutNull(value: Value): Value {
  if (!value.type.nullable || !isTextual(value.type.kind)) return value;
  return compose(`ifNull(${value.sql}, '')`, typeOf(value.type.kind), value.span, [value]);
}
