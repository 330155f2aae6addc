import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import type { Delivery, SortedColumn } from '../../model/destination/destination.ts';
import type { TableField } from '../../model/destination/partition.ts';
import { fieldIds, fitSchema, hasDefault, nameMapping, newSchema } from '../lake/schema.ts';
import type { TableSchema } from '../lake/schema.ts';
import { row_id, row_sequence } from '../lake/row_lineage.ts';
import { currentSchema, currentSpec, tracksRows } from '../lake/table_metadata.ts';
import type { TableMetadata } from '../lake/table_metadata.ts';
import type { Config } from '../lake/place.ts';
import { askedVersion, tableName } from './config.ts';
import type { TableCatalog } from './catalogs/catalog.ts';
import { findOrder, findSpec, fieldsOf, orderFields, specFields } from './layout.ts';
import { isInPlace, locationOf } from './world.ts';
import type { Storage, World } from './world.ts';

const name_mapping = 'schema.name-mapping.default';
/** Rounds of changes: each makes one kind of them, and another writer may commit in between. */
const tries_max = 8;

/** The layout of a delivery's files. */
export type Layout = { fields: readonly TableField[]; order: readonly SortedColumn[] };

/**
 * The prepared table of a delivery: its uuid, its schema with the ids of its fields by name, and
 * the spec and the order of new files.
 */
export type PreparedTable = {
  uuid: string;
  schema: TableSchema;
  ids: Map<string, number>;
  spec_id: number;
  sort_order_id: number;
  /** True if rows have permanent ids. */
  tracks_rows: boolean;
};

/**
 * Creates the table if it is missing, upgrades it as the config asks, adds missing columns,
 * partitions and the order, and returns it. Throws `table_unsuitable` if the rows do not fit.
 */
export async function prepareTable(
  world: World,
  delivery: Delivery,
  layout: Layout,
): Promise<PreparedTable> {
  for (let tries = 1; ; tries += 1)
    try {
      const { load, loadRecent } = world.catalog;
      const { metadata } =
        (await (tries === 1 ? loadRecent() : load())) ??
        (await createTable(world.catalog, world, delivery));
      requireWritable(world, metadata, delivery);
      const change =
        versionChange(world, metadata) ??
        columnChange(metadata, delivery) ??
        layoutChange(metadata, layout);
      if (change === undefined) return preparedOf(metadata, layout);
      // Catalogs assign their own ids, so the table is read again.
      await world.catalog.change(change);
      if (tries === tries_max) throw new RetryableError('conflict', 'The table keeps changing.');
    } catch (error) {
      // Another export, or a client of the catalog, made the same change at this moment.
      const is_conflict = error instanceof RetryableError && error.code === 'conflict';
      if (!is_conflict || tries === tries_max) throw error;
    }
}

/**
 * Returns the partition fields of a table; undefined for a table that does not exist, or that has
 * neither rows nor partitions yet.
 */
export async function tableFields(
  catalog: TableCatalog,
  config: Config,
): Promise<TableField[] | undefined> {
  const table = await catalog.load();
  if (table === undefined) return undefined;
  const fields = fieldsOf(currentSchema(table.metadata), currentSpec(table.metadata));
  if (fields === undefined)
    throw unsuitable({ config }, 'it is partitioned in a way that Sluice does not write.');
  return fields.length === 0 && table.parent === undefined ? undefined : fields;
}

/** Throws `table_unsuitable` if the rows lack a partition column of the table. */
export function requireColumns(
  config: Config,
  fields: readonly TableField[],
  columns: Delivery['columns'],
): void {
  const lacking = fields.find(({ column }) => columns.every(({ name }) => name !== column));
  if (lacking !== undefined)
    throw unsuitable(
      { config },
      `it is partitioned by "${lacking.column}", and the export has no such column.`,
    );
}

/** Creates the table of a delivery. Throws `conflict` if another writer did at this moment. */
export function createTable(
  catalog: TableCatalog,
  storage: Pick<Storage, 'place' | 'config' | 'root' | 'team_id'>,
  delivery: Delivery,
) {
  const schema = newSchema(delivery.columns);
  const properties = {
    [name_mapping]: nameMapping(schema),
    'write.parquet.compression-codec': 'zstd',
    ...(askedVersion(storage.config) === 3 ? { 'format-version': '3' } : {}),
  };
  return catalog.create({ location: locationOf(storage), schema, properties }, delivery);
}

function requireWritable(world: World, metadata: TableMetadata, { columns }: Delivery): void {
  const { 'format-version': version, location } = metadata;
  if (version !== 2 && version !== 3)
    throw unsuitable(world, `it has format version ${version}, and Sluice writes 2 and 3.`);
  if (!isInPlace(world, `${location}/`))
    throw unsuitable(world, `its files lie in ${location}, which is another storage.`);
  const given = new Set(columns.map(({ name }) => name));
  const { fields } = currentSchema(metadata);
  const other = fields.find((field) => hasDefault(field) && !given.has(field.name));
  if (other !== undefined)
    throw unsuitable(
      world,
      `the export lacks its column "${other.name}", which has a default value. Add the column.`,
    );
  const taken = [row_id.name, row_sequence.name].find((name) => given.has(name));
  if (taken !== undefined && (tracksRows(metadata) || askedVersion(world.config) === 3))
    throw unsuitable(world, `format version 3 keeps the column name "${taken}" for itself.`);
}

/** Returns the change that upgrades a table; there is no downgrade. */
function versionChange({ config }: World, metadata: TableMetadata) {
  const version = askedVersion(config);
  if (metadata['format-version'] >= version) return undefined;
  return {
    requirements: [{ type: 'assert-table-uuid', uuid: metadata['table-uuid'] }],
    updates: [{ action: 'upgrade-format-version', 'format-version': version }],
  };
}

/** Returns the error for a table that the rows of an export do not fit. */
export function unsuitable({ config }: Pick<World, 'config'>, why: string): NonRetryableError {
  const { levels, name } = tableName(config);
  const said = [...levels, name].join('.');
  return new NonRetryableError(
    'table_unsuitable',
    `Sluice cannot write to the table ${said}: ${why}`,
  );
}

function columnChange(metadata: TableMetadata, { columns }: Delivery) {
  const schema = currentSchema(metadata);
  const fitting = fitSchema(schema, columns, metadata['last-column-id']);
  if ('fault' in fitting)
    throw new NonRetryableError(
      'table_unsuitable',
      `${fitting.fault} Export to another table, or change the query.`,
    );
  if (fitting.schema === schema) return undefined;
  return {
    requirements: [
      { type: 'assert-table-uuid', uuid: metadata['table-uuid'] },
      { type: 'assert-current-schema-id', 'current-schema-id': metadata['current-schema-id'] },
      {
        type: 'assert-last-assigned-field-id',
        'last-assigned-field-id': metadata['last-column-id'],
      },
    ],
    updates: [
      {
        action: 'add-schema',
        schema: fitting.schema,
        'last-column-id': fitting.last_column_id,
      },
      { action: 'set-current-schema', 'schema-id': -1 },
      { action: 'set-properties', updates: { [name_mapping]: nameMapping(fitting.schema) } },
    ],
  };
}

/** Partitions and order apply to new files; existing files keep theirs. */
function layoutChange(metadata: TableMetadata, { fields, order }: Layout) {
  const schema = currentSchema(metadata);
  const spec = findSpec(schema, metadata['partition-specs'], fields);
  const sorted = orderFields(schema, order);
  const order_id = findOrder(metadata['sort-orders'], sorted);
  const updates: object[] = [];
  if (spec === undefined)
    updates.push({ action: 'add-spec', spec: { fields: specFields(schema, fields) } });
  if (spec?.['spec-id'] !== metadata['default-spec-id'])
    updates.push({ action: 'set-default-spec', 'spec-id': spec?.['spec-id'] ?? -1 });
  if (sorted.length > 0 && order_id === undefined)
    updates.push({ action: 'add-sort-order', 'sort-order': { 'order-id': 1, fields: sorted } });
  if (sorted.length > 0 && order_id !== metadata['default-sort-order-id'])
    updates.push({ action: 'set-default-sort-order', 'sort-order-id': order_id ?? -1 });
  if (updates.length === 0) return undefined;
  return {
    requirements: [
      { type: 'assert-table-uuid', uuid: metadata['table-uuid'] },
      { type: 'assert-default-spec-id', 'default-spec-id': metadata['default-spec-id'] },
      {
        type: 'assert-default-sort-order-id',
        'default-sort-order-id': metadata['default-sort-order-id'],
      },
      {
        type: 'assert-last-assigned-partition-id',
        'last-assigned-partition-id': metadata['last-partition-id'],
      },
    ],
    updates,
  };
}

function preparedOf(metadata: TableMetadata, { fields, order }: Layout): PreparedTable {
  const schema = currentSchema(metadata);
  const sorted = orderFields(schema, order);
  return {
    uuid: metadata['table-uuid'],
    schema,
    ids: fieldIds(schema),
    spec_id: findSpec(schema, metadata['partition-specs'], fields)!['spec-id'],
    sort_order_id: sorted.length === 0 ? 0 : findOrder(metadata['sort-orders'], sorted)!,
    tracks_rows: tracksRows(metadata),
  };
}
