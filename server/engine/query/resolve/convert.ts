import { local } from './apply.ts';
import { coerce } from '../values/coerce.ts';
import { instantIn } from '../values/dated_text.ts';
import { Fault } from '../fault.ts';
import type { Span } from '../query_error.ts';
import { suggest } from '../../../platform/suggest.ts';
import type { TypeName } from '../parse/tree.ts';
import { compose } from '../values/value.ts';
import type { Value } from '../values/value.ts';
import { describeType, isContainer, isNumeric, orNull, typeOf } from '../values/value_type.ts';
import type { Kind, ValueType } from '../values/value_type.ts';
import type { Context } from './scope.ts';

// The types that CAST and :: accept, by the names of ClickHouse and of SQL. All whole numbers have
// 64 bits here.
const type_names: Record<string, Kind> = {
  String: 'text',
  text: 'text',
  varchar: 'text',
  Int64: 'integer',
  Int32: 'integer',
  integer: 'integer',
  int: 'integer',
  bigint: 'integer',
  UInt64: 'unsigned',
  Float64: 'float',
  Float32: 'float',
  float: 'float',
  double: 'float',
  Decimal: 'decimal',
  decimal: 'decimal',
  numeric: 'decimal',
  Bool: 'boolean',
  boolean: 'boolean',
  bool: 'boolean',
  UUID: 'uuid',
  uuid: 'uuid',
  DateTime: 'timestamp',
  DateTime64: 'timestamp',
  timestamp: 'timestamp',
  Date: 'date',
  Date32: 'date',
  date: 'date',
};

/**
 * Fails for a text that ClickHouse's `toInt64` would change: digits beyond 64 bits. A nullable
 * value skips this check, because a cast to a nullable type returns NULL for any other text.
 */
const accurately = (type: string, zero: string) => (sql: string, nullable: boolean) =>
  nullable
    ? `if(isNull(${sql}), NULL, accurateCast(ifNull(${sql}, '${zero}'), '${type}'))`
    : `accurateCast(${sql}, '${type}')`;

// Explicit conversions from one kind to another. A pair without an entry cannot be converted.
const conversions: Partial<Record<`${Kind} ${Kind}`, (sql: string, nullable: boolean) => string>> =
  {
    'text integer': accurately('Int64', '0'),
    'unsigned integer': (sql) => `toInt64(${sql})`,
    'float integer': (sql) => `toInt64(${sql})`,
    'text unsigned': accurately('UInt64', '0'),
    'integer unsigned': (sql) => `toUInt64(${sql})`,
    'float unsigned': (sql) => `toUInt64(${sql})`,
    'boolean unsigned': (sql) => `toUInt64(${sql})`,
    'text decimal': (sql) => `toDecimal128(${sql}, 9)`,
    'float decimal': (sql) => `toDecimal128(${sql}, 9)`,
    'decimal integer': (sql) => `toInt64(${sql})`,
    'decimal float': (sql) => `toFloat64(${sql})`,
    'text float': (sql) => `toFloat64(${sql})`,
    'text boolean': accurately('Bool', 'true'),
    'text uuid': (sql) => `toUUID(${sql})`,
    'text timestamp': (sql) => instantIn(sql, "'UTC'"),
    'integer timestamp': (sql) => `toDateTime64(${sql}, 6, 'UTC')`,
    'text date': (sql) => `toDate32(${instantIn(sql, "'UTC'")})`,
  };

/**
 * Converts the value to the kind, like CAST and the conversion functions. A property that does not
 * fit becomes NULL; any other such text fails the run. Throws a `Fault` if there is no conversion.
 */
export function convert(context: Context, value: Value, kind: Kind, span: Span): Value {
  const as = (sql: string) =>
    compose(sql, { kind, nullable: value.type.nullable, items: [] }, span, [value]);
  if (kind === 'text') return convertToText(value, span);
  const literal =
    typeof value.literal === 'string' && kind !== 'boolean'
      ? coerce(context.writer, value, kind)
      : undefined;
  const coerced = literal ?? coerce(context.writer, value, kind);
  if (coerced !== undefined) return { ...coerced, span };
  if (kind === 'boolean' && isNumeric(value.type.kind)) return as(`notEquals(${value.sql}, 0)`);
  if (kind === 'date' && value.type.kind === 'timestamp')
    return as(
      `toDate32(${[value.sql, ...(value.zone === undefined ? [] : [value.zone])].join(', ')})`,
    );
  const known = conversions[`${value.type.kind === 'json' ? 'text' : value.type.kind} ${kind}`];
  if (known === undefined)
    throw new Fault(
      `There is no conversion from ${describeType(value.type)} to ${describeType(typeOf(kind))}.`,
      span,
    );
  return as(known(value.sql, value.type.nullable));
}

function convertToText(value: Value, span: Span): Value {
  const { kind, nullable } = value.type;
  if (kind === 'interval' || kind === 'bytes')
    throw new Fault(
      kind === 'bytes' ? 'Write hex(...) for the text of bytes.' : 'An interval has no text.',
      span,
    );
  const type: ValueType = { kind: 'text', nullable, items: [] };
  if (isContainer(kind)) return compose(`toJSONString(${value.sql})`, type, span, [value]);
  if (kind === 'text' || kind === 'json' || kind === 'property')
    return {
      ...compose(value.sql, type, span, [value]),
      ...(value.literal === undefined ? {} : { literal: value.literal }),
    };
  return compose(
    `toString(${kind === 'boolean' ? `toBool(${value.sql})` : local(value.sql, value)})`,
    type,
    span,
    [value],
  );
}

/** Converts the value to the type after CAST or `::`. */
export function castTo(context: Context, value: Value, type: TypeName, span: Span): Value {
  if (type.name === 'Nullable') {
    const cast = castTo(context, value, onlyItem(type), span);
    return {
      ...cast,
      type: orNull(cast.type),
      sql: isContainer(cast.type.kind) ? cast.sql : `toNullable(${cast.sql})`,
    };
  }
  if (type.name === 'Array') {
    if (value.type.kind !== 'array')
      throw new Fault(
        `Only an array can be cast to an array; this is ${describeType(value.type)}.`,
        span,
      );
    const name = context.writer.name('l');
    const item = castTo(
      context,
      { ...value, sql: name, type: value.type.items[0]! },
      onlyItem(type),
      span,
    );
    return compose(
      `arrayMap(${name} -> ${item.sql}, ${value.sql})`,
      typeOf('array', item.type),
      span,
      [value],
    );
  }
  const kind = Object.hasOwn(type_names, type.name) ? type_names[type.name] : undefined;
  if (kind === undefined || type.items.length > 0) {
    const message =
      `There is no type ${type.name} here: take String, Int64, UInt64, Float64, Decimal, ` +
      'Bool, UUID, DateTime64 or Date, also inside Nullable(...) or Array(...).';
    throw new Fault(
      message,
      type,
      suggest(type.name, [...Object.keys(type_names), 'Nullable', 'Array']),
    );
  }
  return convert(context, value, kind, span);
}

function onlyItem(type: TypeName): TypeName {
  const [item, ...others] = type.items;
  if (item === undefined || others.length > 0)
    throw new Fault(`${type.name} has one type in its brackets.`, type);
  return item;
}
