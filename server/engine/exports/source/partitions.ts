import { Temporal } from 'temporal-polyfill';
import {
  event_bytes_max,
  isOfTable,
  partition_columns,
  partition_keys,
} from '../../model/destination/partition.ts';
import type {
  Partition,
  PartitionKey,
  Partitioning,
  SlicePartition,
  TableField,
} from '../../model/destination/partition.ts';
import type { Column } from '../../model/models/column.ts';
import { literal } from '../../destinations/formats/expression.ts';
import { folderText } from '../../destinations/formats/naming.ts';
import type { SourceQuery } from './source_query.ts';
import { fieldExpression, rangeConditions } from './table_fields.ts';

type Reading = Pick<SourceQuery, 'query'>;

/** Conditions on the rows of a reading, and their parameters. */
export type Conditions = { conditions: string[]; parameters: Record<string, string> };

/** A partitioning of rows: ClickHouse text of each key, and the meaning of its values. */
export type Parting = {
  expressions: string[];
  partitionOf(values: (string | null)[]): SlicePartition;
};

/** Partitions rows by the folders of their files. */
export function folderParting(reading: Reading, { keys, timezone }: Partitioning): Parting {
  return {
    expressions: keys.map((key) => partitionExpression(reading, key, timezone)),
    partitionOf: (values) => ({
      ...Object.fromEntries(keys.map((key, index) => [key, values[index] ?? null])),
      timezone,
    }),
  };
}

/** Partitions rows by the fields of a table. */
export function tableParting(columns: readonly Column[], fields: TableField[]): Parting {
  return {
    expressions: fields.map((field) => fieldExpression(columns, field)),
    partitionOf: (values) => ({ fields, values }),
  };
}

/**
 * Returns ClickHouse text for the partition of a row. It is NULL for a row without one, and for an
 * event that is empty, no UTF-8, or too long for a folder's name.
 */
function partitionExpression(reading: Reading, key: PartitionKey, timezone: string): string {
  const own = ownColumn(reading, key);
  if (key === 'date') return `toString(toDate32(toTimeZone(${own}, ${literal(timezone)})))`;
  const escaped = `countMatches(${own}, '[^A-Za-z0-9_.~\\\\x{80}-\\\\x{10FFFF}-]')`;
  const isNone =
    `${own} = '' OR NOT isValidUTF8(${own}) OR ` +
    `length(${own}) + 2 * ${escaped} > ${event_bytes_max}`;
  return `if(${isNone}, NULL, toString(${own}))`;
}

function ownColumn({ query }: Reading, key: PartitionKey): string {
  const { name } = partition_columns[key];
  return query?.columns.find((column) => column.name === name)?.expression ?? name;
}

/**
 * Returns the conditions for the rows of a partition, and their parameters. Compares an event in
 * its stored form, and first narrows a day by instants: the store then reads least.
 */
export function partitionConditions(
  reading: Reading,
  partition: SlicePartition,
  columns: readonly Column[],
): Conditions {
  if (!isOfTable(partition)) return folderConditions(reading, partition);
  const { fields, values } = partition;
  const parameters: Record<string, string> = {};
  const conditions = fields.flatMap((field, index) => {
    const expression = fieldExpression(columns, field);
    const value = values[index] ?? null;
    if (value === null) return [`isNull(${expression})`];
    parameters[`part_${index}`] = value;
    return [...rangeConditions(columns, field, value), `${expression} = {part_${index}:String}`];
  });
  return { conditions, parameters };
}

function folderConditions(reading: Reading, { timezone, ...partition }: Partition): Conditions {
  const parameters: Record<string, string> = {};
  const conditions = partition_keys.flatMap((key) => {
    const value = partition[key];
    if (value === undefined) return [];
    const own = ownColumn(reading, key);
    const expression = partitionExpression(reading, key, timezone);
    if (value === null) return [`isNull(${expression})`];
    parameters[`partition_${key}`] = value;
    if (key === 'event') return [`${own} = {partition_event:String}`];
    const day = "toDateTime64({partition_date:String}, 6, 'UTC')";
    return [
      `${own} >= ${day} - toIntervalDay(1)`,
      `${own} < ${day} + toIntervalDay(2)`,
      `${expression} = {partition_date:String}`,
    ];
  });
  return { conditions, parameters };
}

/**
 * Returns true if an event, which happened this many microseconds after 1970, is in the partition.
 */
export function isInPartition(
  { event, happened_us }: { event: string; happened_us: number },
  { timezone, ...partition }: Partition,
): boolean {
  const at = Temporal.Instant.fromEpochMilliseconds(Math.floor(happened_us / 1000));
  const day = at.toZonedDateTimeISO(timezone).toPlainDate().toString();
  const isNamed = event !== '' && Buffer.byteLength(folderText(event)) <= event_bytes_max;
  return (
    (partition.date === undefined || partition.date === day) &&
    (partition.event === undefined || partition.event === (isNamed ? event : null))
  );
}
