import type { TSchema } from 'typebox';
import { destinations } from '../../engine/destinations/index.ts';
import { isFields } from '../../platform/fields.ts';
import type { Fields } from '../../platform/fields.ts';
import { publicSchema } from '../../platform/http/openapi/public_schema.ts';
import { documentedConfig } from '../destinations/schema.ts';
import { kinds } from './kinds/index.ts';
import type { Kind } from './kinds/kind.ts';

const key_pattern = '^[a-z0-9]+(?:[_-][a-z0-9]+)*$';

const secret_schema = {
  title: 'ConfigurationSecret',
  description: 'A secret: a reference to a variable or a file, or the stored value.',
  oneOf: [
    reference('env', { type: 'string' }, 'The variable that holds it.'),
    reference('file', { type: 'string' }, 'The file that holds it, next to this file.'),
    reference('keep', { const: true }, 'Keeps the stored value.'),
  ],
};

function reference(name: string, schema: object, description: string) {
  return {
    type: 'object',
    properties: { [name]: { ...schema, description } },
    required: [name],
    additionalProperties: false,
  };
}

/** Returns the JSON Schema of a configuration, from the schemas of the API. */
export function configurationSchema(): Record<string, unknown> {
  const top = kinds.filter(({ parent }) => parent === undefined);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Sluice configuration',
    type: 'object',
    properties: Object.fromEntries(top.map((kind) => [kind.section, sectionSchema(kind)])),
    additionalProperties: false,
    $defs: { secret: secret_schema },
  };
}

function sectionSchema(kind: Kind): Fields {
  if (kind.is_single) return objectSchema(kind);
  return {
    type: ['object', 'null'],
    description: 'Objects by key; a key stays the same when the name changes.',
    propertyNames: { pattern: key_pattern, maxLength: 100 },
    additionalProperties: objectSchema(kind),
  };
}

function objectSchema(kind: Kind): Fields {
  const inside = kind.name === 'project' ? kinds.filter(({ parent }) => parent === 'project') : [];
  const schema = documented(kind);
  const was = {
    type: 'string',
    description: 'The former key of the object: it stays the same object.',
  };
  return {
    ...schema,
    properties: {
      ...(schema['properties'] as Fields),
      ...Object.fromEntries(inside.map((one) => [one.section, sectionSchema(one)])),
      ...(kind.is_single ? {} : { was }),
    },
    additionalProperties: false,
    ...(inside.length === 0 ? {} : fieldsOrSections(schema, inside)),
  };
}

/**
 * Accepts its own fields, with those required to create it, or only sections: a reference to an
 * existing object.
 */
function fieldsOrSections({ required }: Fields, inside: readonly Kind[]): Fields {
  const sections = inside.map(({ section }) => section);
  return {
    required: [],
    anyOf: [{ required }, { propertyNames: { enum: sections }, minProperties: 1 }],
  };
}

/** Returns the API's schema with references in place of secrets. */
function documented(kind: Kind): Fields {
  const schema = publicSchema(kind.schema);
  if (kind.name === 'batch_export') {
    const properties = schema['properties'] as Fields;
    const destination = { oneOf: destinations.map((one) => destinationSchema(one)) };
    return { ...schema, properties: { ...properties, destination } };
  }
  return withSecrets(schema, kind.secretPaths({}));
}

function destinationSchema(definition: (typeof destinations)[number]): Fields {
  const config = publicSchema(documentedConfig(definition));
  return {
    type: 'object',
    title: definition.label,
    properties: {
      type: { const: definition.type },
      config: withSecrets(config, definition.secrets),
    },
    required: ['type', 'config'],
    additionalProperties: false,
  };
}

function withSecrets(schema: Fields, names: readonly string[]): Fields {
  const properties = Object.entries(schema['properties'] as Record<string, TSchema>);
  return {
    ...schema,
    properties: Object.fromEntries(
      properties.map(([name, one]) => [name, names.includes(name) ? secretOr(one) : one]),
    ),
  };
}

/** A secret may also be plain text; an object may have references inside. */
function secretOr(schema: TSchema): Fields {
  const { description, title, ...plain } = schema as Fields;
  const isObject = [plain['type']].flat().includes('object');
  const inner = isFields(plain['additionalProperties']) ? plain['additionalProperties'] : {};
  const whole = isObject
    ? { ...plain, additionalProperties: { anyOf: [{ $ref: '#/$defs/secret' }, inner] } }
    : plain;
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    anyOf: [{ $ref: '#/$defs/secret' }, whole],
  };
}
