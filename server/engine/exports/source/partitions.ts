import { Temporal } from 'temporal-polyfill';
import {
  event_bytes_max,
  partition_columns,
  partition_keys,
} from '../../model/destination/partition.ts';
import type { Partition, PartitionKey } from '../../model/destination/partition.ts';
import { literal, textExpression } from '../../destinations/formats/expression.ts';
import { folderText } from '../../destinations/formats/naming.ts';
import type { SourceQuery } from './source_query.ts';

type Reading = Pick<SourceQuery, 'query'>;

/**
 * ClickHouse text of the part that a row belongs to: NULL for a row without one, and for an event
 * that is empty or longer than the name of a folder may be.
 */
export function partitionExpression(reading: Reading, key: PartitionKey, timezone: string): string {
  const { name } = partition_columns[key];
  const own = reading.query?.columns.find((column) => column.name === name)?.expression ?? name;
  if (key === 'date') return `toString(toDate32(toTimeZone(${own}, ${literal(timezone)})))`;
  const text = textExpression(own);
  const escaped = `countMatches(${text}, '[^A-Za-z0-9_.~\\\\x{80}-\\\\x{10FFFF}-]')`;
  const isNone = `${text} = '' OR length(${text}) + 2 * ${escaped} > ${event_bytes_max}`;
  return `if(${isNone}, NULL, ${text})`;
}

/** The conditions by which rows are those of a partition, and their parameters. */
export function partitionConditions(
  reading: Reading,
  partition: Partition,
): { conditions: string[]; parameters: Record<string, string> } {
  const parameters: Record<string, string> = {};
  const conditions = partition_keys.flatMap((key) => {
    const value = partition[key];
    if (value === undefined) return [];
    const expression = partitionExpression(reading, key, partition.timezone);
    if (value === null) return [`isNull(${expression})`];
    parameters[`partition_${key}`] = value;
    return [`${expression} = {partition_${key}:String}`];
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
