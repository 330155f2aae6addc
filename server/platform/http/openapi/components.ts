import { isObject } from './json.ts';
import type { Json, JsonObject } from './json.ts';
import { isOwnKeyword } from './public_schema.ts';

/**
 * Returns the value with every titled object schema moved to `schemas`, with a discriminator for
 * choices that a constant `type` distinguishes, and with a type for every list of constants. Throws
 * if two different schemas have the same title.
 */
export function withComponents(value: Json, schemas: JsonObject): Json {
  if (Array.isArray(value)) return value.map((entry) => withComponents(entry, schemas));
  if (!isObject(value)) return value;
  const inner: JsonObject = {};
  for (const [name, entry] of Object.entries(value))
    if (!isOwnKeyword(name, entry)) inner[name] = withComponents(entry, schemas);
  // It has no effect for readers, but makes Go clients send nulls for all unset fields.
  if (isObjectSchema(inner) && JSON.stringify(inner['additionalProperties']) === '{}')
    delete inner['additionalProperties'];
  const told = typed(asProblem(discriminated(inner, schemas)));
  return isTitled(told) ? reference(told, schemas) : told;
}

function isTitled(value: JsonObject): value is JsonObject & { title: string } {
  return typeof value['title'] === 'string' && (isObjectSchema(value) || isChoice(value));
}

function isObjectSchema(value: JsonObject): boolean {
  return value['type'] === 'object' && isObject(value['properties']);
}

function isChoice(value: JsonObject): boolean {
  return Array.isArray(value['oneOf'] ?? value['anyOf']);
}

function reference(schema: JsonObject & { title: string }, schemas: JsonObject): Json {
  const { title, ...body } = schema;
  const known = schemas[title];
  // The sentence about one answer belongs to the answer; all answers share the schema.
  const plain = { ...body };
  delete plain['description'];
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(plain))
    throw new Error(
      `Two different schemas have the title ${title}: give one of them a \`title\` of its own.`,
    );
  schemas[title] = plain;
  return { $ref: `#/components/schemas/${title}` };
}

/**
 * Adds a discriminator for generators to a choice of named schemas with their own constant `type`.
 */
function discriminated(value: JsonObject, schemas: JsonObject): JsonObject {
  const { anyOf, ...rest } = value;
  if (!Array.isArray(anyOf)) return value;
  const mapping: Record<string, string> = {};
  for (const one of anyOf) {
    const ref = isObject(one) && typeof one['$ref'] === 'string' ? one['$ref'] : undefined;
    const named = ref === undefined ? undefined : schemas[ref.split('/').at(-1)!];
    const properties = isObject(named) ? named['properties'] : undefined;
    const type = isObject(properties) ? constantOf(properties['type']) : undefined;
    if (ref === undefined || type === undefined) return value;
    mapping[type] = ref;
  }
  return { ...rest, oneOf: anyOf, discriminator: { propertyName: 'type', mapping } };
}

/** Returns the only text that a schema accepts. */
function constantOf(schema: Json | undefined): string | undefined {
  if (!isObject(schema)) return undefined;
  const [only, ...more] = Array.isArray(schema['enum']) ? schema['enum'] : [schema['const']];
  return typeof only === 'string' && more.length === 0 ? only : undefined;
}

/**
 * Generators need a type to convert a list of constants. A list of types with objects and lists
 * means any value, which generators support, but only without the list.
 */
function typed(value: JsonObject): JsonObject {
  const { enum: choices, type } = value;
  if (Array.isArray(type) && type.includes('object') && type.includes('array')) {
    const { type: _any, ...any } = value;
    return any;
  }
  if (!Array.isArray(choices) || type !== undefined) return value;
  const types = [...new Set(choices.map(typeOf))];
  if (types.includes('null') && types.includes('integer')) return nullableNumbers(value, choices);
  return types.includes('object') || choices.length === 0
    ? value
    : { type: types.length === 1 ? types[0]! : types, ...value };
}

/** Go generators accept no null for a number. */
function nullableNumbers(value: JsonObject, choices: Json[]): JsonObject {
  const { enum: _all, ...rest } = value;
  const numbers = choices.filter((one) => one !== null);
  return { ...rest, anyOf: [{ type: 'integer', enum: numbers }, { type: 'null' }] };
}

function typeOf(value: Json): string {
  if (value === null) return 'null';
  return typeof value === 'number' ? 'integer' : typeof value;
}

/** Error answers have their own media type. */
function asProblem(value: JsonObject): JsonObject {
  const content = value['content'];
  const json = isObject(content) ? content['application/json'] : undefined;
  const schema = isObject(json) ? json['schema'] : undefined;
  return isObject(schema) && schema['$ref'] === '#/components/schemas/Problem'
    ? { ...value, content: { 'application/problem+json': json! } }
    : value;
}
