import { NonRetryableError } from '../../../model/destination/errors.ts';
import type { Delivery } from '../../../model/destination/destination.ts';
import type { TableField } from '../../../model/destination/partition.ts';
import type { Action, State } from './actions.ts';
import { tableName } from './config.ts';
import {
  fields_key,
  fieldsOfTable,
  fieldsText,
  lackingColumn,
  partitionFields,
  partitionProperties,
  sameFields,
} from './layout.ts';
import { fieldsOf, fitFields, schemaText } from './schema.ts';
import type { Field } from './schema.ts';
import type { World } from './world.ts';

/** Writer features that neither an append nor a replacement of files can violate. */
const harmless_features = ['appendOnly', 'invariants'];

/** Returns the error for a table that the rows of an export do not fit. */
export function unsuitable({ config }: Pick<World, 'config'>, why: string): NonRetryableError {
  return new NonRetryableError(
    'table_unsuitable',
    `Sluice cannot write to the table ${tableName(config)}: ${why}`,
  );
}

/** Returns why Sluice cannot write a table with this protocol; undefined: it can. */
export function whyNotWritable({ protocol }: State): string | undefined {
  if (protocol === undefined || isWritable(protocol)) return undefined;
  const { minReaderVersion: reader, minWriterVersion: writer, writerFeatures } = protocol;
  const features = writerFeatures === undefined ? '' : ` (${writerFeatures.join(', ')})`;
  return (
    `it needs reader version ${reader} and writer version ${writer}${features}, and Sluice ` +
    'writes 1 and 2. Export to another table.'
  );
}

function isWritable({
  minReaderVersion,
  minWriterVersion,
  readerFeatures = [],
  writerFeatures = [],
}: NonNullable<State['protocol']>): boolean {
  const isHarmless = writerFeatures.every((feature) => harmless_features.includes(feature));
  if (minWriterVersion === 7) return isHarmless && readerFeatures.length === 0;
  return minReaderVersion === 1 && minWriterVersion <= 2;
}

/** Returns the actions of an entry that define the table. */
export function tableActions(
  world: World,
  state: State,
  delivery: Delivery,
  fields: readonly TableField[],
): Action[] {
  const { protocol, metaData } = state;
  const { schema, is_changed } = fieldsNow(world, state, delivery, fields);
  const { [fields_key]: _, ...configuration } = metaData?.configuration ?? {};
  const info = {
    id: crypto.randomUUID(),
    name: tableName(world.config),
    format: { provider: 'parquet', options: {} },
    createdTime: world.clock.now(),
    ...metaData,
    configuration: { ...configuration, ...partitionProperties(fields) },
    partitionColumns: partitionFields(fields, delivery.columns).map(({ name }) => name),
    schemaString: schemaText(schema),
  };
  return [
    ...(protocol === undefined ? [{ protocol: { minReaderVersion: 1, minWriterVersion: 2 } }] : []),
    ...(is_changed ? [{ metaData: info }] : []),
  ];
}

/**
 * Returns the fields of the table's schema with the delivery, and whether that changes the table.
 * Throws `table_unsuitable` if the rows do not fit. A table without files and partitions, or whose
 * files all leave it, may get other partitions.
 */
export function fieldsNow(
  world: Pick<World, 'config'>,
  state: State,
  delivery: Delivery,
  fields: readonly TableField[],
): { schema: Field[]; is_changed: boolean } {
  const { metaData, adds } = state;
  const { columns, generation } = delivery;
  const why = whyNotWritable(state);
  if (why !== undefined) throw unsuitable(world, why);
  const lacking = lackingColumn(fields, delivery);
  if (lacking !== undefined)
    throw unsuitable(
      world,
      `it is partitioned by "${lacking}", and the export has no such column. Export to ` +
        'another table.',
    );
  const own = metaData === undefined ? [] : fieldsOfTable(metaData);
  const is_parted_anew = metaData !== undefined && !sameFields(own, fields);
  const is_unparted = own.length === 0 && adds.size === 0;
  if (is_parted_anew && !is_unparted && generation === undefined)
    throw unsuitable(
      world,
      `it is partitioned by ${fieldsText(own)}, and the rows by ${fieldsText(fields)}. Leave ` +
        '`partition_by` as the table is.',
    );
  const parts = partitionFields(fields, columns);
  const left = new Set(
    is_parted_anew ? metaData.partitionColumns.filter((name) => !hasColumn(own, name)) : [],
  );
  const before =
    metaData === undefined
      ? []
      : fieldsOf(metaData.schemaString).filter(({ name }) => !left.has(name));
  const fitting = fitFields(before, columns);
  if ('fault' in fitting) throw unsuitable(world, `${fitting.fault} Export to another table.`);
  const missing = parts.filter(({ name }) => fitting.fields.every((field) => field.name !== name));
  return {
    schema: [...fitting.fields, ...missing],
    is_changed: is_parted_anew || fitting.fields !== before || missing.length > 0 || !metaData,
  };
}

/** Returns true if the partition column is one of the rows', and not computed by a transform. */
function hasColumn(fields: readonly TableField[], name: string): boolean {
  return fields.some(({ column, transform }) => transform === 'identity' && column === name);
}
