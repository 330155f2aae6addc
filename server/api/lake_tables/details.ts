import type { LakeTable as StoredTable } from '../../engine/model/lake_catalog/tables.ts';
import type { TableMetadata } from '../../engine/model/lake_catalog/metadata.ts';
import { isMaintained } from '../../engine/exports/lake_maintenance/rules.ts';
import type { LakeTable, LakeTableDetails, Maintenance } from './schema.ts';

/**
 * Returns the table with the parts of its metadata that people read, as they apply to new files.
 */
export function detailsOf(
  shown: LakeTable,
  table: StoredTable,
  maintenance: Omit<Maintenance, 'is_on'> | undefined,
): LakeTableDetails {
  const { metadata, metadata_location, takes_commits } = table;
  const { fields: columns } = metadata.schemas.find(
    (one) => one['schema-id'] === metadata['current-schema-id'],
  )!;
  const is_on = isMaintained(table);
  const is_ours = is_on || table.batch_export_id !== null;
  const nameOf = (id: unknown) => namesOf(metadata).get(id) ?? `field ${String(id)}`;
  const spec = metadata['partition-specs'].find(
    (one) => one['spec-id'] === metadata['default-spec-id'],
  );
  const order = metadata['sort-orders'].find(
    (one) => one['order-id'] === metadata['default-sort-order-id'],
  );
  return {
    ...shown,
    table_uuid: metadata['table-uuid'],
    metadata_location,
    current_snapshot: textOf(metadata['current-snapshot-id']),
    takes_commits,
    columns: columns.map(({ id, name, type, required, doc }) => ({
      id: Number(id),
      name: String(name),
      type: typeof type === 'string' ? type : JSON.stringify(type),
      required: required === true,
      doc: typeof doc === 'string' ? doc : null,
    })),
    partitions: (spec?.fields ?? []).map((field) => ({
      name: field.name,
      column: nameOf(field['source-id']),
      transform: field.transform,
    })),
    sort_order: (order?.fields ?? []).map((field) => ({
      column: nameOf(field['source-id']),
      transform: String(field['transform']),
      direction: String(field['direction']),
      null_order: String(field['null-order']),
    })),
    properties: metadata.properties,
    refs: Object.entries(metadata.refs).map(([name, ref]) => ({
      name,
      type: ref.type,
      snapshot: String(ref['snapshot-id']),
    })),
    maintenance: maintenance === undefined || !is_ours ? null : { is_on, ...maintenance },
  };
}

function textOf(id: number | bigint | undefined): string | null {
  return id === undefined ? null : String(id);
}

/**
 * Returns the names of columns by their ids; a spec may name a column that the current schema has
 * dropped.
 */
function namesOf({ schemas }: TableMetadata): Map<unknown, string> {
  return new Map(
    schemas.flatMap(({ fields }) => fields.map(({ id, name }) => [id, String(name)] as const)),
  );
}
