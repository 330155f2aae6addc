import type { TableSchema } from './schema.ts';
import type { PartitionField, PartitionSpec } from './table_metadata.ts';

/** The value of a partition field: text, integer, boolean, or null. */
export type PartitionValue = string | number | bigint | boolean | null;

/** The partitions of a manifest's files, for one field of the spec. */
export type PartitionSummary = {
  contains_null: boolean;
  contains_nan: boolean | null;
  lower_bound: Buffer | null;
  upper_bound: Buffer | null;
};

/** Iceberg's types of the partitions that this server creates. */
export type PartitionType = 'int' | 'date' | 'long' | 'string' | 'boolean';

/** Returns the result type of a field's transform. */
export function resultType(
  { fields }: TableSchema,
  { transform, ...field }: PartitionField,
): PartitionType {
  if (transform === 'day') return 'date';
  if (transform !== 'identity') return 'int';
  const type = fields.find(({ id }) => id === field['source-id'])?.type;
  if (type === 'string' || type === 'boolean' || type === 'date' || type === 'int') return type;
  if (type === 'long') return type;
  throw new Error(`Sluice makes no partitions of ${JSON.stringify(type)}.`);
}

/** Returns a value as a partition of the type; `text` is its form in a stored slice. */
export function partitionValue(type: PartitionType, text: string | null): PartitionValue {
  if (text === null || type === 'string') return text;
  if (type === 'boolean') return text === 'true' || text === '1';
  return type === 'long' ? BigInt(text) : Number(text);
}

/** Returns the summary of each field of a spec for files with these partitions. */
export function partitionSummaries(
  schema: TableSchema,
  spec: PartitionSpec,
  partitions: readonly PartitionValue[][],
): PartitionSummary[] {
  return spec.fields.map((field, index) => {
    const type = resultType(schema, field);
    const values = partitions.map((partition) => partition[index] ?? null);
    const known = values.filter((value) => value !== null);
    const sorted = known
      .map((value) => ({ value, bytes: singleValue(type, value) }))
      .sort((one, other) => compared(one, other));
    return {
      contains_null: known.length < values.length,
      contains_nan: false,
      lower_bound: sorted[0]?.bytes ?? null,
      upper_bound: sorted.at(-1)?.bytes ?? null,
    };
  });
}

/** Returns partitions as texts, which are equal for equal partitions. */
export function partitionText(partition: readonly PartitionValue[]): string {
  return JSON.stringify(partition.map((value) => (value === null ? null : String(value))));
}

type Valued = { value: string | number | bigint | boolean; bytes: Buffer };

/** Iceberg orders texts by their UTF-8, JavaScript by its units of 16 bits. */
function compared(one: Valued, other: Valued): number {
  if (typeof one.value === 'string') return one.bytes.compare(other.bytes);
  return one.value < other.value ? -1 : one.value > other.value ? 1 : 0;
}

/** Serializes a single value. */
function singleValue(type: PartitionType, value: string | number | bigint | boolean): Buffer {
  if (type === 'string') return Buffer.from(String(value));
  if (type === 'boolean') return Buffer.from([value === true ? 1 : 0]);
  const bytes = Buffer.alloc(type === 'long' ? 8 : 4);
  if (type === 'long') bytes.writeBigInt64LE(BigInt(value));
  else bytes.writeInt32LE(Number(value));
  return bytes;
}
