import { parseExactJson } from '../../../platform/json/exact_json.ts';
import { isFields } from '../../../platform/fields.ts';
import type { Fields } from '../../../platform/fields.ts';
import { intOf, listOf, longAt, longOf, objectAt, textOf, textsAt } from './fields.ts';
import { checkedSchema } from './fresh_schema.ts';
import { format_versions } from './metadata.ts';
import type { TableMetadata } from './metadata.ts';
import { badRequest } from './refusal.ts';

/** Returns the metadata of a new table, before the updates of its first commit. */
export function unmadeMetadata(
  location: string,
  updates: readonly unknown[],
  now_ms: number,
): TableMetadata {
  const says = (action: string) => updates.some((one) => isFields(one) && one['action'] === action);
  const uuid = updates.find((one) => isFields(one) && one['action'] === 'assign-uuid');
  return {
    'format-version': says('upgrade-format-version') ? 1 : 2,
    'table-uuid': textOf(objectAt(uuid, 'assign-uuid'), 'uuid').toLowerCase(),
    location,
    'last-sequence-number': 0,
    'last-updated-ms': now_ms,
    'last-column-id': 0,
    schemas: [],
    'current-schema-id': 0,
    'partition-specs': [],
    'default-spec-id': 0,
    'last-partition-id': 999,
    'sort-orders': [],
    'default-sort-order-id': 0,
    properties: {},
    refs: {},
    'metadata-log': [],
  };
}

/**
 * Returns the complete metadata: unpartitioned and unsorted by default. Throws 400 without a
 * schema.
 */
export function madeMetadata(metadata: TableMetadata): TableMetadata {
  const { schemas, 'partition-specs': specs, 'sort-orders': orders } = metadata;
  if (schemas.length === 0) throw badRequest('The commit gives the table no schema.');
  return {
    ...metadata,
    'partition-specs': specs.length === 0 ? [{ 'spec-id': 0, fields: [] }] : specs,
    'sort-orders': orders.length === 0 ? [{ 'order-id': 0, fields: [] }] : orders,
  };
}

/** The parts of a metadata file. */
export type ReadMetadata = { metadata: TableMetadata; snapshots: Fields[]; log: Fields[] };

/** Returns the URIs that metadata names: the table's, and all files except those in manifests. */
export function namedFiles({ metadata, snapshots }: ReadMetadata): string[] {
  const { location, statistics = [], 'partition-statistics': parts = [] } = metadata;
  return [
    location,
    ...metadata['metadata-log'].map((one) => one['metadata-file']),
    ...snapshots.flatMap((one) => one['manifest-list'] ?? one['manifests'] ?? []),
    ...[...statistics, ...parts].map((one) => one['statistics-path']),
  ].map(String);
}

/** Reads the parts of a metadata file; throws 400 for an invalid text. */
export function readMetadata(text: string): ReadMetadata {
  let parsed: unknown;
  try {
    parsed = parseExactJson(text);
  } catch {
    throw badRequest('The metadata file is not JSON.');
  }
  const { snapshots = [], 'snapshot-log': log = [], ...rest } = objectAt(parsed, 'Metadata');
  if (!format_versions.includes(intOf(rest, 'format-version')))
    throw badRequest(`The catalog offers format versions ${format_versions.join(', ')}.`);
  textOf(rest, 'table-uuid');
  if (rest['format-version'] === 3) longOf(rest, 'next-row-id');
  textOf(rest, 'location');
  for (const schema of listOf(rest, 'schemas')) checkedSchema(schema);
  requireOne(rest, 'schemas', 'schema-id', 'current-schema-id');
  requireOne(rest, 'partition-specs', 'spec-id', 'default-spec-id');
  requireOne(rest, 'sort-orders', 'order-id', 'default-sort-order-id');
  intOf(rest, 'last-column-id');
  for (const name of ['metadata-log', 'statistics', 'partition-statistics'])
    objectsOf(rest[name] ?? [], name);
  const refs = objectAt(rest['refs'] ?? {}, 'refs');
  for (const ref of Object.values(refs)) longOf(objectAt(ref, 'refs'), 'snapshot-id');
  const current = rest['current-snapshot-id'] ?? -1;
  if (current === -1) delete rest['current-snapshot-id'];
  else longAt(current, 'current-snapshot-id');
  const metadata = {
    'last-sequence-number': 0,
    'metadata-log': [],
    ...rest,
    properties: textsAt(rest['properties'] ?? {}, 'properties'),
    refs:
      current === -1 || Object.hasOwn(refs, 'main')
        ? refs
        : { ...refs, main: { 'snapshot-id': current, type: 'branch' } },
  } as unknown as TableMetadata;
  return {
    metadata,
    snapshots: objectsOf(snapshots, 'snapshots'),
    log: objectsOf(log, 'snapshot-log'),
  };
}

/** Throws 400 unless every entry of the list is complete and one is the current one. */
function requireOne(fields: Fields, list: string, id: string, current: string): void {
  const wanted = intOf(fields, current);
  const entries = objectsOf(fields[list], list);
  for (const entry of entries) objectsOf(entry['fields'], `${list}.fields`);
  if (!entries.some((one) => one[id] === wanted))
    throw badRequest(`${current} is ${wanted}, and ${list} has no such entry.`);
}

function objectsOf(list: unknown, name: string): Fields[] {
  if (!Array.isArray(list)) throw badRequest(`${name} must be a list.`);
  return list.map((one) => objectAt(one, name));
}
