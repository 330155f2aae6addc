import type { ConfigViolation, Delivery } from '../../../model/destination/destination.ts';
import { NonRetryableError } from '../../../model/destination/errors.ts';
import type { TableField } from '../../../model/destination/partition.ts';
import { violation } from '../../../model/destination/violation.ts';
import type { MergeKeys } from '../../../model/destination/write_mode.ts';
import type { Column } from '../../../model/models/column.ts';
import { askedFields, fieldName, layoutViolations } from '../layout.ts';
import type { Config } from '../place.ts';
import type { TableInfo } from './actions.ts';
import { typeOf } from './schema.ts';
import type { Field } from './schema.ts';

/** The property of a table that records the source of its partition columns. */
export const fields_key = 'sluice.partition-by';

const day_ms = 86_400_000;

/**
 * Returns the partition columns of a table. A column of the rows is used directly; a transform has
 * its own column, which only the log fills.
 */
export function partitionFields(
  fields: readonly TableField[],
  columns: readonly Pick<Column, 'name' | 'type'>[],
): Field[] {
  return fields.map((field) => ({
    name: fieldName(field),
    type: partitionType(field, columns),
    nullable: true,
    metadata: {},
  }));
}

function partitionType(
  { column, transform }: TableField,
  columns: readonly Pick<Column, 'name' | 'type'>[],
): string {
  if (transform === 'day') return 'date';
  if (transform !== 'identity') return transform.startsWith('bucket') ? 'integer' : 'string';
  const found = columns.find(({ name }) => name === column);
  if (found === undefined) throw new Error(`The export has no column ${column}.`);
  return typeOf(found.type);
}

/** Returns the properties of a table with these partitions. */
export function partitionProperties(fields: readonly TableField[]): Record<string, string> {
  return fields.length === 0 ? {} : { [fields_key]: JSON.stringify(fields) };
}

/**
 * Returns the partition fields of a table: those that Sluice has recorded, else the columns
 * themselves.
 */
export function fieldsOfTable({ partitionColumns, configuration }: TableInfo): TableField[] {
  const noted = JSON.parse(configuration[fields_key] ?? '[]') as TableField[];
  return partitionColumns.map(
    (name) =>
      noted.find((field) => fieldName(field) === name) ?? { column: name, transform: 'identity' },
  );
}

/** Returns true for the same fields in the same order. */
export function sameFields(one: readonly TableField[], other: readonly TableField[]): boolean {
  const told = (fields: readonly TableField[]) =>
    JSON.stringify(fields.map(({ column, transform }) => [column, transform]));
  return told(one) === told(other);
}

/** Formats fields for users. */
export function fieldsText(fields: readonly TableField[]): string {
  return fields.length === 0 ? 'nothing' : fields.map(fieldText).join(', ');
}

function fieldText({ column, transform }: TableField): string {
  if (transform === 'identity') return column;
  const [, buckets] = /^bucket\[(\d+)\]$/.exec(transform) ?? [];
  return buckets === undefined ? `${transform}(${column})` : `bucket(${buckets}, ${column})`;
}

/**
 * Returns the values of a partition in the log's form. Throws for an empty text, which the format
 * cannot distinguish from null.
 */
export function partitionValues(
  fields: readonly TableField[],
  values: readonly (string | null)[],
  columns: readonly Pick<Column, 'name' | 'type'>[],
): Record<string, string | null> {
  return Object.fromEntries(
    fields.map((field, index) => {
      const text = values[index] ?? null;
      return [fieldName(field), text === null ? null : valueText(field, text, columns)];
    }),
  );
}

function valueText(
  field: TableField,
  text: string,
  columns: readonly Pick<Column, 'name' | 'type'>[],
): string {
  const { transform, column } = field;
  if (transform === 'day') return dayText(Number(text));
  if (transform === 'hour') return hourText(Number(text));
  if (transform === 'month')
    return new Date(Date.UTC(1970, Number(text))).toISOString().slice(0, 7);
  if (transform !== 'identity') return text;
  const type = partitionType(field, columns);
  if (type === 'date') return dayText(Number(text));
  if (type === 'boolean') return String(text === 'true' || text === '1');
  if (text === '')
    throw new NonRetryableError(
      'table_unsuitable',
      `The table is partitioned by "${column}", and a row has an empty text there, which ` +
        'Delta stores as null. Leave such rows out in the query, give them another text, or ' +
        'partition the table by other columns.',
    );
  return text;
}

/** Formats an hour like Iceberg's readers: `2026-01-31-07`. */
function hourText(hours: number): string {
  return new Date(hours * 3_600_000).toISOString().slice(0, -11).replace('T', '-');
}

function dayText(days: number): string {
  return new Date(days * day_ms).toISOString().slice(0, -14);
}

/** Checks a layout: the rules of every table of files, and reserved names. */
export function deltaLayoutViolations(
  config: Config,
  columns: readonly Column[],
  merge: MergeKeys | null | undefined,
): ConfigViolation[] {
  const found = layoutViolations(config, columns, merge);
  if (found.length > 0) return found;
  const fields = askedFields(config) ?? [];
  const own = fields.filter(({ transform }) => transform !== 'identity').map(fieldName);
  const taken = own.find((name) =>
    columns.some((column) => column.name.toLowerCase() === name.toLowerCase()),
  );
  if (taken !== undefined)
    return [
      violation(
        'partition_by',
        `The table gets a column \`${taken}\` for this partition, and the export has one too. ` +
          'Name that column as the partition, or give it another alias.',
      ),
    ];
  if (fields.length - own.length === columns.length)
    return [violation('partition_by', 'A table needs a column that is no partition.')];
  return [];
}

/** Returns the column of a field that a delivery lacks; undefined: it has all. */
export function lackingColumn(
  fields: readonly TableField[],
  { columns }: Pick<Delivery, 'columns'>,
): string | undefined {
  return fields.find(({ column }) => columns.every(({ name }) => name !== column))?.column;
}
