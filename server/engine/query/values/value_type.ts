import type { ColumnType, NestedItem } from '../../model/models/column.ts';

/**
 * The kind of a value. `integer` has 64 bits with a sign, `unsigned` 64 bits without. `decimal` has
 * 38 digits, nine after the point. `property` is a value of a JSON object whose kind only its rows
 * show. `bytes` are raw hashes. `null` is NULL itself.
 */
export type Kind =
  | 'null'
  | 'boolean'
  | 'integer'
  | 'unsigned'
  | 'float'
  | 'decimal'
  | 'text'
  | 'json'
  | 'property'
  | 'bytes'
  | 'uuid'
  | 'timestamp'
  | 'date'
  | 'interval'
  | 'array'
  | 'tuple'
  | 'map';

/**
 * A kind, whether NULL can occur, and the inner types: an array's items, a tuple's elements, a
 * map's key and value. Arrays, tuples and maps are never NULL.
 */
export type ValueType = { kind: Kind; nullable: boolean; items: ValueType[] };

/** Returns a type that is never NULL. */
export function typeOf(kind: Kind, ...items: ValueType[]): ValueType {
  return { kind, nullable: kind === 'null', items };
}

/** Returns the type with NULL as a further value, if ClickHouse can have one. */
export function orNull(type: ValueType): ValueType {
  return isContainer(type.kind) ? type : { ...type, nullable: true };
}

/** Returns true for arrays, tuples and maps. */
export function isContainer(kind: Kind): boolean {
  return kind === 'array' || kind === 'tuple' || kind === 'map';
}

/**
 * Most types inside one type: subqueries can double a tuple at each level, and each pass visits
 * every type.
 */
const parts_max = 1_000;

/**
 * Returns true if the type has more parts than a query may have. Its time is bounded by that limit,
 * however large the type is.
 */
export function isTooLarge(type: ValueType): boolean {
  const waiting = [type];
  for (let seen = 0; waiting.length > 0; seen += 1) {
    if (seen + waiting.length > parts_max) return true;
    waiting.push(...waiting.pop()!.items);
  }
  return false;
}

/** Returns true for kinds that support calculation; a boolean counts as 0 or 1. */
export function isNumeric(kind: Kind): boolean {
  return kind === 'integer' || kind === 'unsigned' || kind === 'float' || kind === 'boolean';
}

/** Returns true for kinds that are ClickHouse strings of text. */
export function isTextual(kind: Kind): boolean {
  return kind === 'text' || kind === 'json' || kind === 'property';
}

/**
 * Returns the one type that can hold all of these, or undefined if there is none. Properties take
 * the kind of the other types.
 */
export function unify(types: ValueType[]): ValueType | undefined {
  const known = types.filter((type) => type.kind !== 'null');
  const nullable = types.some((type) => type.nullable);
  const [first] = known;
  if (first === undefined) return typeOf('null');
  const kind = unifyKinds(new Set(known.map((type) => type.kind)));
  if (kind === undefined) return undefined;
  if (!isContainer(kind))
    return {
      kind,
      nullable: nullable || (kind !== 'property' && known.some((type) => type.kind === 'property')),
      items: [],
    };
  if (known.some((type) => type.items.length !== first.items.length)) return undefined;
  const items = first.items.map((_item, index) => unify(known.map((type) => type.items[index]!)));
  return items.every((item) => item !== undefined) ? typeOf(kind, ...items) : undefined;
}

function unifyKinds(kinds: Set<Kind>): Kind | undefined {
  const [only, ...others] = kinds;
  if (others.length === 0) return only;
  const within = (...allowed: Kind[]) => [...kinds].every((kind) => allowed.includes(kind));
  if (within('text', 'json', 'property')) return 'text';
  if (within('boolean', 'property')) return 'boolean';
  if (within('boolean', 'integer')) return 'integer';
  if (within('boolean', 'integer', 'unsigned', 'float', 'property'))
    return kinds.has('float') || kinds.has('property') ? 'float' : undefined;
  if (within('integer', 'decimal', 'property')) return 'decimal';
  if (within('timestamp', 'date', 'property')) return kinds.has('timestamp') ? 'timestamp' : 'date';
  if (within('uuid', 'property')) return 'uuid';
  return undefined;
}

/** Describes the type in the author's terms, for errors and documentation. */
export function describeType({ kind, items }: ValueType): string {
  if (kind === 'array')
    return (
      'array of ' +
      (items[0] === undefined || items[0].kind === 'null' ? 'anything' : describeType(items[0]))
    );
  if (kind === 'tuple') return `tuple of ${items.map(describeType).join(' and ')}`;
  if (kind === 'map') return `map from ${items.map(describeType).join(' to ')}`;
  return kind === 'unsigned' ? 'unsigned integer' : kind;
}

const column_types: Partial<Record<Kind, ColumnType>> = {
  null: 'text',
  boolean: 'boolean',
  integer: 'integer',
  // Destinations only have signed integers of 64 bits; a text keeps all digits.
  unsigned: 'text',
  float: 'float',
  decimal: 'decimal',
  text: 'text',
  json: 'json',
  property: 'text',
  uuid: 'uuid',
  timestamp: 'timestamp',
  date: 'text',
  array: 'json',
  tuple: 'json',
  map: 'json',
};

/**
 * Returns the type of an export's column for such values; undefined for types that cannot be
 * exported (intervals and raw bytes). With native types, a date stays a date, and arrays and maps
 * have typed contents, unless they contain tuples: those are JSON everywhere.
 */
export function columnTypeOf(given: ValueType, is_native: boolean): NestedItem | undefined {
  const { kind, nullable, items } = given;
  const type = is_native && kind === 'date' ? 'date' : column_types[kind];
  if (type === undefined) return undefined;
  const value = items.at(-1);
  if (!is_native || value === undefined || holdsTuple([given])) return { type, nullable };
  const of = columnTypeOf(value, true);
  return of && { type, nullable, nested: { kind: kind === 'array' ? 'list' : 'map', of } };
}

function holdsTuple(types: ValueType[]): boolean {
  return types.some(({ kind, items }) => kind === 'tuple' || holdsTuple(items));
}

const engine_types: Record<ColumnType, string> = {
  uuid: 'UUID',
  text: 'String',
  json: 'String',
  timestamp: "DateTime64(6, 'UTC')",
  date: 'Date32',
  decimal: 'Decimal(38, 9)',
  integer: 'Int64',
  float: 'Float64',
  boolean: 'Bool',
};

/** Returns ClickHouse's name of an output column's final type. */
export function engineTypeOf(type: ColumnType, nullable: boolean): string {
  return nullable ? `Nullable(${engine_types[type]})` : engine_types[type];
}
