import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import type { Delivery } from '../../model/destination/destination.ts';
import { fieldIds, fitSchema, nameMapping, newSchema } from '../lake/schema.ts';
import { currentSchema, currentSpec } from '../lake/table_metadata.ts';
import type { TableMetadata } from '../lake/table_metadata.ts';
import { tableName } from './config.ts';
import type { TableCatalog } from './catalogs/catalog.ts';
import { isInPlace, locationOf } from './world.ts';
import type { Storage, World } from './world.ts';

const name_mapping = 'schema.name-mapping.default';
const tries_max = 5;

/** The table that a delivery is written for: its uuid, and the ids of its fields by name. */
export type PreparedTable = { uuid: string; ids: Map<string, number> };

/**
 * Creates the table if it is missing, adds the columns that it lacks, and returns it. Throws
 * `table_unsuitable` if the rows cannot be appended to it.
 */
export async function prepareTable(world: World, delivery: Delivery): Promise<PreparedTable> {
  for (let tries = 1; ; tries += 1)
    try {
      const { metadata } =
        (await world.catalog.load()) ?? (await createTable(world.catalog, world, delivery));
      requireWritable(world, metadata);
      return await widened(world, metadata, delivery);
    } catch (error) {
      // Another export, or a client of the catalog, did the same at this moment.
      const is_conflict = error instanceof RetryableError && error.code === 'conflict';
      if (!is_conflict || tries === tries_max) throw error;
    }
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
  };
  return catalog.create({ location: locationOf(storage), schema, properties }, delivery);
}

function requireWritable({ base, config }: World, metadata: TableMetadata): void {
  const { 'format-version': version, location } = metadata;
  const { levels, name } = tableName(config);
  const said = [...levels, name].join('.');
  const unsuitable = (why: string) =>
    new NonRetryableError('table_unsuitable', `Sluice cannot append to the table ${said}: ${why}`);
  if (version !== 2) throw unsuitable(`it has format version ${version}, and Sluice writes 2.`);
  if (currentSpec(metadata).fields.length > 0)
    throw unsuitable('it is partitioned. Export to a table without partitions.');
  if (!isInPlace({ base }, location))
    throw unsuitable(`its files lie in ${location}, which is another storage.`);
}

async function widened(
  { catalog }: World,
  metadata: TableMetadata,
  { columns }: Delivery,
): Promise<PreparedTable> {
  const uuid = metadata['table-uuid'];
  const schema = currentSchema(metadata);
  const fitting = fitSchema(schema, columns, metadata['last-column-id']);
  if ('fault' in fitting)
    throw new NonRetryableError(
      'table_unsuitable',
      `${fitting.fault} Export to another table, or change the query.`,
    );
  if (fitting.schema !== schema)
    await catalog.change({
      requirements: [
        { type: 'assert-table-uuid', uuid },
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
    });
  return { uuid, ids: fieldIds(fitting.schema) };
}
