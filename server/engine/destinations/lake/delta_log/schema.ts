import type { TableField } from '../../../model/destination/partition.ts';
import type { Column, ColumnType } from '../../../model/models/column.ts';
import { fieldName } from '../layout.ts';

/** A field of a Delta table; another writer's may have any type. */
export type Field = {
  name: string;
  type: unknown;
  nullable: boolean;
  metadata: Record<string, unknown>;
};

/** Uuids and JSON are text: Delta has no types for them. */
const types: Record<ColumnType, string> = {
  uuid: 'string',
  text: 'string',
  json: 'string',
  timestamp: 'timestamp',
  integer: 'long',
  float: 'double',
  boolean: 'boolean',
  date: 'date',
  decimal: 'decimal(38,9)',
};

/** Returns the Delta type of a column. */
export function typeOf(type: ColumnType): string {
  return types[type];
}

/** Keys of a field that make a writer compute or check its values. */
const duties = ['delta.invariants', 'delta.generationExpression', 'delta.identity.start'];

/** Returns the fields of a schema text of the log. */
export function fieldsOf(schemaString: string): Field[] {
  return (JSON.parse(schemaString) as { fields: Field[] }).fields;
}

/** Returns the schema text of fields. */
export function schemaText(fields: Field[]): string {
  return JSON.stringify({ type: 'struct', fields });
}

/**
 * Returns the fields of a table with one for each column, or why the rows do not fit. If none is
 * missing, it returns the given fields. A new field may be null, because older files lack it.
 * Readers such as Spark do not distinguish `Foo` from `foo`, so such a pair is a fault.
 */
export function fitFields(
  fields: Field[],
  columns: Pick<Column, 'name' | 'type' | 'nullable'>[],
): { fault: string } | { fields: Field[] } {
  const fitting = [...fields];
  for (const { name, type, nullable } of columns) {
    const same = fitting.find((field) => field.name.toLowerCase() === name.toLowerCase());
    if (same === undefined) fitting.push({ name, type: types[type], nullable: true, metadata: {} });
    else if (same.name !== name)
      return { fault: `"${name}" and "${same.name}" differ only in upper and lower case.` };
    else if (same.type !== types[type])
      return {
        fault:
          `The column "${name}" of the table has the type ${said(same.type)}, and the export ` +
          `delivers ${types[type]}.`,
      };
    else if (!same.nullable && nullable)
      return { fault: `The column "${name}" of the table is NOT NULL.` };
  }
  const given = new Set(columns.map(({ name }) => name));
  for (const { name, nullable, metadata } of fields) {
    if (!nullable && !given.has(name))
      return { fault: `The column "${name}" of the table is NOT NULL, and the export lacks it.` };
    if (duties.some((key) => key in metadata))
      return { fault: `The column "${name}" of the table is computed or checked by its writer.` };
  }
  return { fields: fitting.length === fields.length ? fields : fitting };
}

function said(type: unknown): string {
  return typeof type === 'string' ? type : JSON.stringify(type);
}

/**
 * Returns the fields of a table's rows, without the columns that Sluice computes for partitions.
 */
export function rowFields(schema: readonly Field[], fields: readonly TableField[]): Field[] {
  const made = new Set(
    fields.filter(({ transform }) => transform !== 'identity').map((field) => fieldName(field)),
  );
  return schema.filter(({ name }) => !made.has(name));
}

/** Returns the Iceberg name of a Delta type; undefined if Sluice cannot copy its values. */
export function icebergType(type: unknown): string | undefined {
  if (typeof type !== 'string') return undefined;
  const decimal = /^decimal\((\d+), *(\d+)\)$/.exec(type);
  return decimal === null ? iceberg_types[type] : `decimal(${decimal[1]}, ${decimal[2]})`;
}

const iceberg_types: Record<string, string> = {
  string: 'string',
  timestamp: 'timestamptz',
  long: 'long',
  integer: 'int',
  double: 'double',
  float: 'float',
  boolean: 'boolean',
  date: 'date',
};
