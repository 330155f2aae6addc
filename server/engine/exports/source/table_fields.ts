import { bucketsOf } from '../../destinations/lake/transforms.ts';
import { typedValue } from '../../destinations/formats/typed_value.ts';
import type { TableField } from '../../model/destination/partition.ts';
import type { Column } from '../../model/models/column.ts';

const hour_micros = 3_600_000_000;
const day_micros = 24 * hour_micros;

/**
 * Returns ClickHouse text for the partition of a row, as text: computed from the value in its file,
 * so that readers find it there. Null stays null.
 */
export function fieldExpression(
  columns: readonly Column[],
  { column, transform }: TableField,
): string {
  const index = columns.findIndex(({ name }) => name === column);
  const found = columns[index];
  if (found === undefined) throw new Error(`The export has no column ${column}.`);
  const value = typedValue(found, index, { uuid_type: 'String' });
  const text = `toString(${partText(found, transform, `assumeNotNull(${value})`)})`;
  return found.nullable ? `if(isNull(${value}), NULL, ${text})` : text;
}

function partText({ type }: Column, transform: string, value: string): string {
  if (transform === 'identity') return type === 'date' ? `toInt32(${value})` : value;
  if (transform === 'month') return `(toYear(${value}) - 1970) * 12 + toMonth(${value}) - 1`;
  const micros = `toUnixTimestamp64Micro(${value})`;
  if (transform === 'day') return floored(micros, day_micros);
  if (transform === 'hour') return floored(micros, hour_micros);
  const hashed =
    type === 'timestamp' ? longBytes(micros) : type === 'integer' ? longBytes(value) : value;
  return `bitAnd(murmurHash3_32(${hashed}), 2147483647) % ${bucketsOf(transform)}`;
}

/** Iceberg hashes integers and instants as the eight bytes of a long. */
function longBytes(value: string): string {
  return `reinterpretAsFixedString(toInt64(${value}))`;
}

/** Rounds down, also before 1970. ClickHouse's positiveModulo is wrong for such large numbers. */
function floored(micros: string, unit: number): string {
  return `intDiv(if(${micros} < 0, ${micros} - ${unit - 1}, ${micros}), ${unit})`;
}

/**
 * Returns conditions on a model's own instants that hold for every row of a partition, so that the
 * store reads less.
 */
export function rangeConditions(
  columns: readonly Column[],
  { column, transform }: TableField,
  value: string,
): string[] {
  const found = columns.find(({ name }) => name === column);
  if (found === undefined || found.is_calculated === true || found.type !== 'timestamp') return [];
  const unit = transform === 'day' ? day_micros : transform === 'hour' ? hour_micros : undefined;
  if (unit === undefined) return [];
  const from = BigInt(value) * BigInt(unit);
  const at = (micros: bigint) => `fromUnixTimestamp64Micro(toInt64(${micros}), 'UTC')`;
  return [`${found.expression} >= ${at(from)}`, `${found.expression} < ${at(from + BigInt(unit))}`];
}
