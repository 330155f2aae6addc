import { isFields } from '../../../platform/fields.ts';
import type { Fields } from '../../../platform/fields.ts';
import { intOf, listOf, objectAt, textOf } from './fields.ts';
import { badRequest } from './refusal.ts';

/** A table schema in Iceberg's form. */
export type Schema = Fields & { type: 'struct'; 'schema-id': number; fields: Fields[] };

/** Higher ids are reserved for metadata columns. */
const field_id_max = 2_147_483_447;
const depth_max = 32;
const primitive = new RegExp(
  '^(?:boolean|int|long|float|double|date|time|timestamp|timestamptz|timestamp_ns|' +
    'timestamptz_ns|string|uuid|binary|unknown|variant|fixed\\[\\d{1,9}\\]|' +
    'decimal\\(\\d{1,2}, ?\\d{1,2}\\)|(?:geometry|geography)(?:\\([^)]*\\))?)$',
);

/**
 * Returns the schema with ids from 1, as the catalog assigns them to a new table: all fields of one
 * level before their nested fields. `idOf` maps an old id to the new one.
 */
export function freshSchema(given: unknown): {
  schema: Schema;
  last_column_id: number;
  idOf: (id: number) => number;
} {
  const fields = checkedSchema(given);
  const ids = new Map<number, number>();
  let last = 0;
  const next = (id: number): number => {
    last += 1;
    ids.set(id, last);
    return last;
  };
  const idOf = (id: number): number => {
    const found = ids.get(id);
    if (found === undefined) throw badRequest(`The schema has no field with the id ${id}.`);
    return found;
  };
  const struct = renumbered(fields, next) as Fields & { fields: Fields[] };
  const identifiers = identifiersOf(fields).map(idOf);
  const schema: Schema = {
    ...struct,
    type: 'struct',
    'schema-id': 0,
    ...(identifiers.length === 0 ? {} : { 'identifier-field-ids': identifiers }),
  };
  return { schema, last_column_id: last, idOf };
}

/** Returns a type with ids from `next`: a level before its nested fields. */
function renumbered(type: unknown, next: (id: number) => number): unknown {
  if (!isFields(type)) return type;
  if (type['type'] === 'list') {
    const id = next(intOf(type, 'element-id'));
    return { ...type, 'element-id': id, element: renumbered(type['element'], next) };
  }
  if (type['type'] === 'map') {
    const [key_id, value_id] = [next(intOf(type, 'key-id')), next(intOf(type, 'value-id'))];
    const key = renumbered(type['key'], next);
    const value = renumbered(type['value'], next);
    return { ...type, 'key-id': key_id, key, 'value-id': value_id, value };
  }
  const level = (type['fields'] as Fields[]).map((field) => ({
    ...field,
    id: next(intOf(field, 'id')),
  })) as Fields[];
  return { ...type, fields: level.map((one) => ({ ...one, type: renumbered(one['type'], next) })) };
}

/** Checks a schema: ids must be unique, and so must names within a level. Throws 400. */
export function checkedSchema(given: unknown): Schema {
  const schema = objectAt(given, 'schema');
  const ids = new Set<number>();
  const note = (id: number) => {
    if (id > field_id_max || id < 0) throw badRequest(`The field id ${id} is out of range.`);
    if (ids.has(id)) throw badRequest(`The schema has the field id ${id} twice.`);
    ids.add(id);
  };
  checkType({ ...schema, type: 'struct' }, note, 0);
  for (const id of identifiersOf(schema))
    if (!ids.has(id)) throw badRequest(`identifier-field-ids has ${id}, which is no field.`);
  return schema as Schema;
}

function checkType(type: unknown, note: (id: number) => void, depth: number): void {
  if (depth > depth_max) throw badRequest(`The schema is nested deeper than ${depth_max} levels.`);
  if (typeof type === 'string') {
    if (!primitive.test(type)) throw badRequest(`The schema has the unknown type ${type}.`);
    return;
  }
  const fields = objectAt(type, 'A type in the schema');
  if (fields['type'] === 'list') {
    note(intOf(fields, 'element-id'));
    return checkType(fields['element'], note, depth + 1);
  }
  if (fields['type'] === 'map') {
    note(intOf(fields, 'key-id'));
    note(intOf(fields, 'value-id'));
    checkType(fields['key'], note, depth + 1);
    return checkType(fields['value'], note, depth + 1);
  }
  if (fields['type'] !== 'struct')
    throw badRequest(`The schema has the unknown type ${String(fields['type'])}.`);
  const names = new Set<string>();
  for (const one of listOf(fields, 'fields')) {
    const field = objectAt(one, 'A field of the schema');
    const name = textOf(field, 'name');
    if (names.has(name)) throw badRequest(`The schema has the name ${name} twice.`);
    names.add(name);
    note(intOf(field, 'id'));
    if (typeof field['required'] !== 'boolean')
      throw badRequest(`The field ${name} must say whether it is required.`);
    checkType(field['type'], note, depth + 1);
  }
}

function identifiersOf(schema: Fields): number[] {
  const ids = schema['identifier-field-ids'] ?? [];
  if (!Array.isArray(ids) || ids.some((id) => !Number.isInteger(id)))
    throw badRequest('identifier-field-ids must be a list of field ids.');
  return ids as number[];
}

/** Returns all field ids of a schema, including nested ones. */
export function fieldIdsOf(schema: Schema): number[] {
  const ids: number[] = [];
  renumbered(schema, (id) => {
    ids.push(id);
    return id;
  });
  return ids;
}
