import type { Column, ColumnType } from '../../model/models/column.ts';

/** Iceberg's types for our columns. */
export type FieldType =
  | 'string'
  | 'timestamptz'
  | 'long'
  | 'double'
  | 'boolean'
  | 'date'
  | 'decimal(38, 9)';

/**
 * A field of a table; another writer's may have any type of Iceberg. In format version 3, it may
 * have a value for files without the column, and one for rows without it.
 */
export type SchemaField = {
  id: number;
  name: string;
  required: boolean;
  type: unknown;
  'initial-default'?: unknown;
  'write-default'?: unknown;
};

/**
 * Returns true if a field has a default for files or rows without it. Sluice leaves it null there.
 */
export function hasDefault(field: SchemaField): boolean {
  return (field['initial-default'] ?? null) !== null || (field['write-default'] ?? null) !== null;
}

/** A schema in the JSON of Iceberg. */
export type TableSchema = { type: 'struct'; 'schema-id': number; fields: SchemaField[] };

/**
 * Uuids are text: BigQuery and Snowflake would show the type `uuid` as bytes, which cannot be
 * joined with text. JSON is text too, because format v2 has no type for it.
 */
const types: Record<ColumnType, FieldType> = {
  uuid: 'string',
  text: 'string',
  json: 'string',
  timestamp: 'timestamptz',
  integer: 'long',
  float: 'double',
  boolean: 'boolean',
  date: 'date',
  decimal: 'decimal(38, 9)',
};

/**
 * Returns the schema of a new table. Field ids begin with 1, because Snowflake refuses 0. All
 * fields may be null, because a required column can never become optional.
 */
export function newSchema(columns: Pick<Column, 'name' | 'type'>[]): TableSchema {
  return {
    type: 'struct',
    'schema-id': 0,
    fields: columns.map((column, index) => fieldOf(column, index + 1)),
  };
}

function fieldOf({ name, type }: Pick<Column, 'name' | 'type'>, id: number): SchemaField {
  return { id, name, required: false, type: types[type] };
}

/** The result of `fitSchema`: a schema with every column, or why a column does not fit. */
export type Fitting = { fault: string } | { schema: TableSchema; last_column_id: number };

/**
 * Returns the schema with a field for each column. Missing ones are added with ids that the table
 * has never used, and narrower ones are widened: `int` to `long`, `float` to `double`, a decimal to
 * more digits. If nothing changes, it returns the given schema. Readers such as Spark do not
 * distinguish `Foo` from `foo`, so such a pair is a fault.
 */
export function fitSchema(
  schema: TableSchema,
  columns: Pick<Column, 'name' | 'type'>[],
  last_column_id: number,
): Fitting {
  const fields = [...schema.fields];
  let last = last_column_id;
  for (const column of columns) {
    const same = fields.find(({ name }) => name.toLowerCase() === column.name.toLowerCase());
    if (same === undefined) fields.push(fieldOf(column, (last += 1)));
    else if (same.name !== column.name)
      return { fault: `"${column.name}" and "${same.name}" differ only in upper and lower case.` };
    else if (isWidened(same.type, types[column.type]))
      fields[fields.indexOf(same)] = { ...same, type: types[column.type] };
    else if (!isSame(same.type, types[column.type]))
      return {
        fault:
          `The column "${column.name}" of the table has the type ${said(same.type)}, and the ` +
          `export delivers ${types[column.type]}.`,
      };
  }
  const isEqual = fields.every((field, index) => field === schema.fields[index]);
  return {
    schema: isEqual && fields.length === schema.fields.length ? schema : { ...schema, fields },
    last_column_id: last,
  };
}

/** Other writers omit the space in a decimal. */
function isSame(type: unknown, wanted: FieldType): boolean {
  return typeof type === 'string' && type.replaceAll(' ', '') === wanted.replaceAll(' ', '');
}

/** The promotions of format v2. */
function isWidened(type: unknown, wanted: FieldType): boolean {
  if (wanted === 'long') return type === 'int';
  if (wanted === 'double') return type === 'float';
  const digits = typeof type === 'string' && /^decimal\((\d+), *9\)$/.exec(type)?.[1];
  return wanted === types.decimal && typeof digits === 'string' && Number(digits) < 38;
}

function said(type: unknown): string {
  return typeof type === 'string' ? type : JSON.stringify(type);
}

/** Returns the ids of a schema's fields by name. */
export function fieldIds({ fields }: TableSchema): Map<string, number> {
  return new Map(fields.map(({ name, id }) => [name, id]));
}

/**
 * Returns the text of the property `schema.name-mapping.default`, by which readers find the columns
 * of files without field ids.
 */
export function nameMapping({ fields }: TableSchema): string {
  return JSON.stringify(fields.map(({ id, name }) => ({ 'field-id': id, names: [name] })));
}
