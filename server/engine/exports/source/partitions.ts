import { Temporal } from 'temporal-polyfill';
import {
  event_bytes_max,
  partition_columns,
  partition_keys,
} from '../../model/destination/partition.ts';
import type { Partition, PartitionKey } from '../../model/destination/partition.ts';
import { literal } from '../../destinations/formats/expression.ts';
import { folderText } from '../../destinations/formats/naming.ts';
import type { SourceQuery } from './source_query.ts';

type Reading = Pick<SourceQuery, 'query'>;

/**
 * ClickHouse text of the part that a row belongs to: NULL for a row without one, and for an event
 * that is empty, no UTF-8, or longer than the name of a folder may be.
 */
export function partitionExpression(reading: Reading, key: PartitionKey, timezone: string): string {
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
 * The conditions by which rows are those of a partition, and their parameters. An event is compared
 * as it is stored, and a day by instants around it first: that is what the store reads least for.
 */
export function partitionConditions(
  reading: Reading,
  { timezone, ...partition }: Partition,
): { conditions: string[]; parameters: Record<string, string> } {
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

/** Is an event, which happened so many microseconds after 1970, in the partition? */
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
