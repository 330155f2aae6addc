import type { Kind, ValueType } from '../values/value_type.ts';

const engine_types: Partial<Record<Kind, RegExp>> = {
  boolean: /^(?:Bool|UInt8)$/,
  integer: /^Int64$/,
  unsigned: /^UInt64$/,
  float: /^Float64$/,
  decimal: /^Decimal\(38, 9\)$/,
  text: /^String$/,
  json: /^String$/,
  property: /^String$/,
  bytes: /^FixedString\(\d+\)$/,
  uuid: /^UUID$/,
  timestamp: /^DateTime64\(6, 'UTC'\)$/,
  date: /^Date32$/,
  interval: /^Interval\w+$/,
  null: /^Nothing$/,
};
const containers: Partial<Record<Kind, string>> = { array: 'Array', tuple: 'Tuple', map: 'Map' };

/**
 * Returns true if this ClickHouse type, in ClickHouse's notation, matches the inferred one. A type
 * that was inferred as possibly NULL may turn out never NULL.
 */
export function matchesEngineType(type: ValueType, engineType: string): boolean {
  const isNullable = engineType.startsWith('Nullable(');
  const plain = isNullable ? engineType.slice('Nullable('.length, -1) : engineType;
  // NULL itself has no type of its own in ClickHouse.
  if (engineType === 'Nullable(Nothing)') return type.nullable;
  const container = containers[type.kind];
  if (container === undefined)
    return (type.nullable || !isNullable) && engine_types[type.kind]?.test(plain) === true;
  if (!plain.startsWith(`${container}(`)) return false;
  const items = splitItems(plain.slice(container.length + 1, -1));
  return (
    items.length === type.items.length &&
    items.every((item, index) => matchesEngineType(type.items[index]!, item))
  );
}

/** Splits types at commas outside inner brackets. */
function splitItems(text: string): string[] {
  const items: string[] = [];
  let depth = 0;
  let start = 0;
  for (const [index, sign] of [...text].entries()) {
    if (sign === '(') depth += 1;
    if (sign === ')') depth -= 1;
    if (sign === ',' && depth === 0) {
      items.push(text.slice(start, index).trim());
      start = index + 1;
    }
  }
  return [...items, text.slice(start).trim()].filter((item) => item !== '');
}
