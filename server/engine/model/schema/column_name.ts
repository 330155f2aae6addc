import { createHash } from 'node:crypto';
import type { PropertyType } from './property_type.ts';

/** The shortest limit of all databases: PostgreSQL's. */
const column_bytes_max = 63;
const hash_digits = 8;

/** An existing column, with its property and type. */
type Named = { property: string; column: string };

/**
 * Returns the column of a property: `p_` and the name in lower snake case, so that it is none of
 * our columns and no reserved word. A name that another column has gets a suffix: the type, or a
 * number. `known` are all columns that the source ever had.
 */
export function columnName(property: string, type: PropertyType, known: readonly Named[]): string {
  const taken = new Set(known.map(({ column }) => column));
  const base = `p_${snakeCase(property)}`;
  const isRetyped = known.some((one) => one.property === property);
  const candidates = function* (): Generator<string> {
    if (!isRetyped) yield shortened(base, '', property);
    else yield shortened(base, `_${type}`, property);
    for (let number = 2; ; number += 1)
      yield shortened(base, isRetyped ? `_${type}_${number}` : `_${number}`, property);
  };
  for (const name of candidates()) if (!taken.has(name)) return name;
  throw new Error('unreachable: numbers never end');
}

/** Returns the properties with the same name in snake case, such as userId and user_id. */
export function namesakesOf(property: string, known: readonly Named[]): string[] {
  const name = snakeCase(property);
  const others = known.filter((one) => one.property !== property);
  return [...new Set(others.map((one) => one.property))].filter((one) => snakeCase(one) === name);
}

/** Returns the ASCII letters and digits in words; a hash replaces any other characters. */
function snakeCase(property: string): string {
  const plain = property.normalize('NFKD').replaceAll(/\p{M}/gu, '');
  const words = plain
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
  const isLossy = words === '' || /[^\0-\x7f]/.test(plain);
  return isLossy ? [words, hashOf(property)].filter((part) => part !== '').join('_') : words;
}

function shortened(base: string, suffix: string, property: string): string {
  if (base.length + suffix.length <= column_bytes_max) return base + suffix;
  const room = column_bytes_max - suffix.length - hash_digits - 1;
  return `${base.slice(0, room).replace(/_+$/, '')}_${hashOf(property)}${suffix}`;
}

function hashOf(property: string): string {
  return createHash('sha256').update(property).digest('hex').slice(0, hash_digits);
}
