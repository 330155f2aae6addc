import type { Fields } from '../../../platform/fields.ts';
import type { Draft } from './draft.ts';
import { intOf, textListAt, textOf, textsAt } from './fields.ts';
import { checkedSchema, fieldIdsOf } from './fresh_schema.ts';
import type { Schema } from './fresh_schema.ts';
import { format_versions } from './metadata.ts';
import type { TableMetadata } from './metadata.ts';
import { badRequest } from './refusal.ts';
import { boundOrder, boundSpec, isEqual } from './specs.ts';

/** Applies one update to the draft; throws 400 if it does not fit. */
export type Apply = (draft: Draft, update: Fields) => void;

/** All updates except those of snapshots, by action. */
export const table_updates: Record<string, Apply> = {
  'assign-uuid': ({ table }, update) => {
    const uuid = textOf(update, 'uuid');
    if (uuid.toLowerCase() !== table['table-uuid'].toLowerCase())
      throw badRequest(`The uuid of the table is ${table['table-uuid']}and cannot change.`);
  },
  'upgrade-format-version': ({ table }, update) => {
    const version = intOf(update, 'format-version');
    if (!format_versions.includes(version))
      throw badRequest(`The catalog offers format versions ${format_versions.join(', ')}.`);
    if (version < table['format-version'])
      throw badRequest(
        `The table has format version ${table['format-version']}: it cannot go back to ${version}.`,
      );
    table['format-version'] = version;
    if (version === 3) table['next-row-id'] ??= 0;
  },
  'add-schema': addSchema,
  'set-current-schema': (draft, update) => {
    const id = addedOr(intOf(update, 'schema-id'), draft.last_added.schema, 'schema');
    schemaOf(draft.table, id);
    draft.table['current-schema-id'] = id;
  },
  'remove-schemas': ({ table }, update) => {
    const ids = idsOf(update, 'schema-ids');
    if (ids.has(table['current-schema-id']))
      throw badRequest('The current schema cannot be removed.');
    table.schemas = table.schemas.filter((one) => !ids.has(one['schema-id']));
  },
  'add-spec': addSpec,
  'set-default-spec': (draft, update) => {
    const id = addedOr(intOf(update, 'spec-id'), draft.last_added.spec, 'spec');
    if (!draft.table['partition-specs'].some((one) => one['spec-id'] === id))
      throw badRequest(`The table has no partition spec ${id}.`);
    draft.table['default-spec-id'] = id;
  },
  'remove-partition-specs': ({ table }, update) => {
    const ids = idsOf(update, 'spec-ids');
    if (ids.has(table['default-spec-id'])) throw badRequest('The default spec cannot be removed.');
    table['partition-specs'] = table['partition-specs'].filter((one) => !ids.has(one['spec-id']));
  },
  'add-sort-order': (draft, update) => {
    const { table } = draft;
    const order = boundOrder(update['sort-order'], currentSchema(table), table['sort-orders']);
    draft.last_added.order = order['order-id'];
    if (!table['sort-orders'].some((one) => one['order-id'] === order['order-id']))
      table['sort-orders'].push(order);
  },
  'set-default-sort-order': (draft, update) => {
    const id = addedOr(intOf(update, 'sort-order-id'), draft.last_added.order, 'sort order');
    if (!draft.table['sort-orders'].some((one) => one['order-id'] === id))
      throw badRequest(`The table has no sort order ${id}.`);
    draft.table['default-sort-order-id'] = id;
  },
  'set-location': ({ table }, update) => {
    table.location = textOf(update, 'location').replace(/\/+$/, '');
  },
  'set-properties': ({ table }, update) => {
    const set = textsAt(update['updates'] ?? update['updated'], 'updates');
    table.properties = { ...table.properties, ...set };
  },
  'remove-properties': ({ table }, update) => {
    const names = textListAt(update['removals'] ?? update['removed'], 'removals');
    for (const name of names) delete table.properties[name];
  },
};

function addSchema({ table, last_added }: Draft, update: Fields): void {
  const schema = checkedSchema(update['schema']);
  const last = Math.max(table['last-column-id'], ...fieldIdsOf(schema));
  // Java sends the greatest id of this schema, which is lower after a column was dropped.
  const given = update['last-column-id'] === undefined ? last : intOf(update, 'last-column-id');
  const same = table.schemas.find((one) => isEqual(shapeOf(one), shapeOf(schema)));
  const id =
    same?.['schema-id'] ?? Math.max(-1, ...table.schemas.map((one) => one['schema-id'])) + 1;
  if (same === undefined) table.schemas.push({ ...schema, type: 'struct', 'schema-id': id });
  table['last-column-id'] = Math.max(last, given);
  last_added.schema = id;
}

const shapeOf = ({ fields, 'identifier-field-ids': identifiers = [] }: Schema) => ({
  fields,
  identifiers,
});

function addSpec({ table, last_added }: Draft, update: Fields): void {
  const specs = table['partition-specs'];
  const bound = boundSpec(update['spec'], currentSchema(table), specs, table['last-partition-id']);
  const same = specs.find((one) => isEqual(one.fields, bound.spec.fields));
  const id = same?.['spec-id'] ?? Math.max(-1, ...specs.map((one) => one['spec-id'])) + 1;
  if (same === undefined) specs.push({ ...bound.spec, 'spec-id': id });
  table['last-partition-id'] = bound.last_partition_id;
  last_added.spec = id;
}

/** Returns the schema with the id; throws 400 if the table has none. */
function schemaOf(table: TableMetadata, id: number): Schema {
  const found = table.schemas.find((one) => one['schema-id'] === id);
  if (found === undefined) throw badRequest(`The table has no schema ${id}.`);
  return found;
}

/** The current schema of the table. */
function currentSchema(table: TableMetadata): Schema {
  return schemaOf(table, table['current-schema-id']);
}

/** Returns the id; -1 stands for the last added one. */
function addedOr(id: number, added: number | undefined, noun: string): number {
  if (id !== -1) return id;
  if (added === undefined) throw badRequest(`The commit adds no ${noun} that -1 could stand for.`);
  return added;
}

function idsOf(update: Fields, name: string): Set<unknown> {
  const ids = update[name];
  if (!Array.isArray(ids) || ids.some((id) => !Number.isInteger(id)))
    throw badRequest(`${name} must be a list of whole numbers.`);
  return new Set(ids);
}
