import type { Random } from '../chaos/random.ts';
import { hostileText, hostileValue } from './hostile.ts';
import type { Schema } from './operations.ts';

const depth_max = 8;
const text_length_max = 40;
const letters = 'abcdefghij 0123456789_-';

/**
 * The source of values: `wrong` is the share of hostile parts. `resolve` follows references of the
 * document.
 */
export type Creating = {
  random: Random;
  wrong: number;
  resolve(ref: string): Schema;
  /**
   * Returns a value for a field that refers to a real object, such as `plugin` or `email`;
   * undefined if none is known.
   */
  known(name: string): unknown;
};

/** Returns a value that fits the schema, except for the share of hostile parts. */
export function createValue(making: Creating, schema: Schema, name = '', depth = 0): unknown {
  const { random, wrong } = making;
  if (random.next() < wrong) return hostileValue(random);
  if (schema.$ref !== undefined)
    return createValue(making, making.resolve(schema.$ref), name, depth);
  const known = random.next() < 0.7 ? making.known(name) : undefined;
  if (known !== undefined) return known;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined && schema.enum.length > 0) return random.one(schema.enum);
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches !== undefined) return createValue(making, random.one(branches), name, depth);
  const types = [schema.type ?? 'any'].flat();
  return createTyped(making, schema, random.one(types), name, depth);
}

function createTyped(
  making: Creating,
  schema: Schema,
  type: string,
  name: string,
  depth: number,
): unknown {
  const { random } = making;
  switch (type) {
    case 'null':
      return null;
    case 'boolean':
      return random.next() < 0.5;
    case 'integer':
    case 'number':
      return createNumber(random, schema, type);
    case 'string':
      return createText(random, schema, name);
    case 'array':
      return createList(making, schema, name, depth);
    case 'object':
      return createObject(making, schema, depth);
    default:
      return random.one(['x', 1, true, { a: 1 }, [1]]);
  }
}

function createNumber(random: Random, { minimum = 0, maximum }: Schema, type: string): number {
  const most = maximum ?? minimum + 10_000;
  const value = random.one([minimum, most, random.between(minimum, Math.min(most, minimum + 100))]);
  return type === 'integer' ? Math.trunc(value) : value;
}

function createText(random: Random, schema: Schema, name: string): string {
  const { format, pattern, minLength = 0, maxLength = text_length_max } = schema;
  const digits = () => Math.floor(random.next() * 16).toString(16);
  if (format === 'uuid')
    return 'xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx'.replaceAll('x', () => digits());
  if (format === 'date-time')
    return new Date(Date.UTC(2026, 0, 1) + random.between(0, 400) * 86_400_000).toISOString();
  if (format === 'email') return `p${random.between(0, 200)}@example.com`;
  if (pattern === '^[0-9]{6}$') return String(random.between(100_000, 999_999));
  if (/url|uri/.test(name)) return `https://host${random.between(0, 9)}.example.com/x`;
  if (/host|domain/.test(name)) return `host${random.between(0, 9999)}.example.com`;
  const length = random.one([
    minLength,
    Math.min(maxLength, text_length_max),
    Math.min(maxLength, Math.max(minLength, random.between(1, 12))),
  ]);
  return Array.from({ length }, () => letters.charAt(random.between(0, letters.length - 1))).join(
    '',
  );
}

function createList(making: Creating, schema: Schema, name: string, depth: number): unknown[] {
  const { minItems = 0, maxItems = 3, items = {} } = schema;
  if (depth > depth_max) return [];
  const length = making.random.between(minItems, Math.min(maxItems, minItems + 3));
  return Array.from({ length }, () => createValue(making, items, name, depth + 1));
}

function createObject(making: Creating, schema: Schema, depth: number): Record<string, unknown> {
  const { random, wrong } = making;
  const { properties = {}, required = [], additionalProperties } = schema;
  const created: [string, unknown][] = [];
  const share = random.one([0, 0.3, 1]);
  for (const [name, inner] of Object.entries(properties)) {
    const isWanted = required.includes(name)
      ? random.next() >= wrong
      : depth <= depth_max && random.next() < share;
    if (isWanted) created.push([name, createValue(making, inner, name, depth + 1)]);
  }
  const isOpen = additionalProperties !== undefined && additionalProperties !== false;
  if ((isOpen && depth <= depth_max && random.next() < 0.5) || random.next() < wrong)
    created.push([
      random.next() < wrong ? hostileText(random) : `key_${random.between(0, 5)}`,
      typeof additionalProperties === 'object'
        ? createValue(making, additionalProperties, '', depth + 1)
        : hostileValue(random),
    ]);
  return Object.fromEntries(created);
}
