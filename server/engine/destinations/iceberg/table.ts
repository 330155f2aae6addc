import { randomUUID } from 'node:crypto';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import type { Delivery } from '../../model/destination/destination.ts';
import { commitTable, createTable } from '../../model/lake_catalog/commit.ts';
import { createNamespace, findNamespace } from '../../model/lake_catalog/namespaces.ts';
import type { Namespace } from '../../model/lake_catalog/namespaces.ts';
import { LakeRefused } from '../../model/lake_catalog/refusal.ts';
import { holdTable } from '../../model/lake_catalog/tables.ts';
import type { LakeTable } from '../../model/lake_catalog/tables.ts';
import { fieldIds, fitSchema, nameMapping, newSchema } from '../lake/schema.ts';
import { currentSchema, currentSpec } from '../lake/table_metadata.ts';
import type { TableMetadata } from '../lake/table_metadata.ts';
import { lakeFolder, tableName } from './config.ts';
import { locationOf, putFile } from './world.ts';
import type { World } from './world.ts';

const name_mapping = 'schema.name-mapping.default';

/** The table that a delivery is written for: its uuid, and the ids of its fields by name. */
export type PreparedTable = { uuid: string; ids: Map<string, number> };

/**
 * Creates the table if it is missing, adds the columns that it lacks, and returns it. Throws
 * `table_unsuitable` if the rows cannot be appended to it.
 */
export async function prepareTable(world: World, delivery: Delivery): Promise<PreparedTable> {
  return explained(() =>
    world.db.transaction(async (tx) => {
      const found = await holdTable(tx, delivery.team_id, tableName(world.config));
      const table = found ?? (await create(world, tx, delivery));
      requireWritable(world, table);
      return widened(world, tx, table, delivery);
    }),
  );
}

/** Returns the metadata of a table as the writer of files reads it. */
export function metadataOf(table: LakeTable): TableMetadata {
  return table.metadata as unknown as TableMetadata;
}

/** The surroundings of a change of the catalog. */
export function surroundings(world: World) {
  const writeFile = (uri: string, text: string) => putFile(world, uri, text);
  return { writeFile, now_ms: world.clock.now() };
}

async function create(world: World, tx: Transaction, delivery: Delivery): Promise<LakeTable> {
  const { batch_export_id, team_id, columns } = delivery;
  const { levels, name } = tableName(world.config);
  const namespace = await namespaceOf(world, tx, delivery, levels);
  const schema = newSchema(columns);
  return createTable(
    tx,
    { team_id, namespace, name, batch_export_id },
    {
      table_uuid: randomUUID(),
      location: locationOf(world),
      schema,
      properties: {
        [name_mapping]: nameMapping(schema),
        'write.parquet.compression-codec': 'zstd',
      },
    },
    surroundings(world),
  );
}

/** The namespace, created with those above it where they are missing. */
async function namespaceOf(
  world: World,
  tx: Transaction,
  { team_id, batch_export_id }: Delivery,
  levels: string[],
): Promise<Namespace> {
  const above = lakeFolder(world.place, world.config, team_id);
  let namespace: Namespace | undefined;
  for (let depth = 1; depth <= levels.length; depth += 1) {
    const own = levels.slice(0, depth);
    namespace =
      (await findNamespace(tx, team_id, own)) ??
      (await createNamespace(tx, {
        team_id,
        levels: own,
        properties: {},
        location: `${world.root}${[above, ...own].filter((part) => part !== '').join('/')}`,
        batch_export_id,
      }));
  }
  return namespace!;
}

function requireWritable({ root }: World, table: LakeTable): void {
  const { 'format-version': version } = table.metadata;
  const said = [...table.levels, table.name].join('.');
  const unsuitable = (why: string) =>
    new NonRetryableError('table_unsuitable', `Sluice cannot append to the table ${said}: ${why}`);
  if (version !== 2) throw unsuitable(`it has format version ${version}, and Sluice writes 2.`);
  if (currentSpec(metadataOf(table)).fields.length > 0)
    throw unsuitable('it is partitioned. Export to a table without partitions.');
  if (!table.location.startsWith(root))
    throw unsuitable(`its files lie in ${table.location}, which is another storage.`);
}

async function widened(
  world: World,
  tx: Transaction,
  table: LakeTable,
  { columns }: Delivery,
): Promise<PreparedTable> {
  const metadata = metadataOf(table);
  const schema = currentSchema(metadata);
  const fitting = fitSchema(schema, columns, metadata['last-column-id']);
  if ('fault' in fitting)
    throw new NonRetryableError(
      'table_unsuitable',
      `${fitting.fault} Export to another table, or change the query.`,
    );
  if (fitting.schema !== schema)
    await commitTable(
      tx,
      table,
      {
        requirements: [],
        updates: [
          {
            action: 'add-schema',
            schema: fitting.schema,
            'last-column-id': fitting.last_column_id,
          },
          { action: 'set-current-schema', 'schema-id': -1 },
          {
            action: 'set-properties',
            updates: { [name_mapping]: nameMapping(fitting.schema) },
          },
        ],
      },
      surroundings(world),
    );
  return { uuid: metadata['table-uuid'], ids: fieldIds(fitting.schema) };
}

/** Gives what is given, and throws a refusal of our own catalog as a fault of the delivery. */
export async function explained<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LakeRefused)) throw error;
    // Another export, or a client of the catalog, did the same at this moment.
    if (error.status === 409)
      throw new RetryableError('conflict', `${error.message} The run is tried again.`);
    throw new NonRetryableError('table_unsuitable', `The catalog refused it: ${error.message}`);
  }
}
