import { NonRetryableError } from '../../model/destination/errors.ts';
import type { Column, ColumnType } from '../../model/models/column.ts';
import { mergeOf } from '../sql_tables/layout.ts';
import type { Layout } from '../sql_tables/layout.ts';
import type { Dataset, Field, NewTable, Table } from './api.ts';
import { targetOf } from './config.ts';
import { requireNoneMissing } from '../sql_tables/fitting.ts';

/**
 * The column types that store a value of the export unchanged, as the API and SQL name them; new
 * tables use the first one.
 */
const types: Record<ColumnType, readonly [string, ...string[]]> = {
  uuid: ['STRING'],
  text: ['STRING'],
  json: ['STRING', 'JSON'],
  timestamp: ['TIMESTAMP'],
  date: ['DATE'],
  decimal: ['NUMERIC', 'BIGNUMERIC'],
  integer: ['INTEGER', 'INT64', 'NUMERIC', 'BIGNUMERIC'],
  float: ['FLOAT', 'FLOAT64'],
  boolean: ['BOOLEAN', 'BOOL'],
};

const columns_max = 10_000;
/** A file's columns only allow these names, though tables allow more. */
const column_name = /^[A-Za-z_][A-Za-z0-9_]{0,299}$/;
const reserved_name =
  /^(?:_TABLE_|_FILE_|_PARTITION|_ROW_TIMESTAMP|__ROOT__|_COLIDENTIFIER|_CHANGE_TYPE$|_CHANGE_SEQUENCE_NUMBER$)/i;

/** Lists the columns of a query that BigQuery cannot store. Its names ignore case. */
export function bigQueryColumnFaults(columns: Column[]): string[] {
  const faults: string[] = [];
  const names = new Set<string>();
  for (const { name } of columns) {
    if (!column_name.test(name))
      faults.push(
        'BigQuery loads only columns with names of the letters a to z, digits and underscores ' +
          `that begin with no digit: give the column \`${name}\` another alias.`,
      );
    if (reserved_name.test(name))
      faults.push(
        `BigQuery reserves names that begin like \`${name}\`. Give the column another alias.`,
      );
    if (names.has(name.toLowerCase()))
      faults.push(`BigQuery ignores case in names: give the column \`${name}\` another alias.`);
    names.add(name.toLowerCase());
  }
  return columns.length > columns_max
    ? [...faults, `A table of BigQuery has at most ${columns_max} columns.`]
    : faults;
}

/** Returns the columns of a stage table: those of the files, with JSON as text. */
export function stageFields(columns: Column[]): Field[] {
  return columns.map((column) => ({ name: column.name, type: types[column.type][0] }));
}

/** Returns the type of a column of a table that the export creates, in SQL's notation. */
export function typeOf({ type }: Column, useJsonType: boolean): string {
  return type === 'json' && useJsonType ? 'JSON' : (sql_names[types[type][0]] ?? types[type][0]);
}

const sql_names: Record<string, string> = { INTEGER: 'INT64', FLOAT: 'FLOAT64', BOOLEAN: 'BOOL' };

/** Types that store every value of a typed column completely. */
export const whole_types = Object.fromEntries(
  Object.entries(types).map(([type, names]) => [type, new RegExp(`^(?:${names.join('|')})$`)]),
) as Record<ColumnType, RegExp>;

/**
 * Returns the table of an export: events are partitioned by day of `timestamp`, merged rows are
 * clustered by their key.
 */
export function newTable(layout: Layout, useJsonType: boolean): NewTable {
  const fields = layout.columns.map((column) => ({
    name: column.name,
    type: column.type === 'json' && useJsonType ? 'JSON' : types[column.type][0],
  }));
  const merge = mergeOf(layout);
  const hasTime = layout.columns.some(
    (column) =>
      column.name === 'timestamp' && column.type === 'timestamp' && column.is_calculated !== true,
  );
  return {
    schema: { fields },
    ...(layout.model === 'events' && hasTime
      ? { timePartitioning: { type: 'DAY', field: 'timestamp' } as const }
      : {}),
    // BigQuery clusters by four columns at most.
    ...(merge === undefined ? {} : { clustering: { fields: merge.key.slice(0, 4) } }),
  };
}

const receipt_fields: Field[] = [
  ...['delivery_id', 'batch_export_id', 'run_id', 'table_name'].map((name) => ({
    name,
    type: 'STRING',
  })),
  { name: 'records', type: 'INTEGER' },
  { name: 'manifest', type: 'STRING' },
  { name: 'delivered_at', type: 'TIMESTAMP' },
];

/** Returns the table of receipts. */
export function newReceipts(): NewTable {
  return { schema: { fields: receipt_fields }, clustering: { fields: ['delivery_id'] } };
}

/** Returns the columns of an export that have the type JSON in the table. */
export function jsonColumns(
  columns: readonly Pick<Column, 'name'>[],
  found: Pick<Field, 'name' | 'type'>[],
): Set<string> {
  const types = new Map(found.map(({ name, type }) => [name.toLowerCase(), type]));
  const json = columns.filter(({ name }) => types.get(name.toLowerCase()) === 'JSON');
  return new Set(json.map(({ name }) => name));
}

/**
 * Returns the text of a column's value. Instants are in UTC; a cast would use the project's time
 * zone.
 */
export function textOf(column: Column, name: string, type: string | undefined): string {
  if (type === 'JSON') return `TO_JSON_STRING(${name})`;
  return column.type === 'timestamp'
    ? `FORMAT_TIMESTAMP('%F %H:%M:%E6S', ${name}, 'UTC')`
    : `CAST(${name} AS STRING)`;
}

/** Refuses an unsuitable table, and lists all columns that are missing or have another type. */
export function requireColumns(dataset: Dataset, layout: Layout, table: Table | undefined): void {
  const { name } = targetOf(dataset.config);
  if (table === undefined)
    throw new NonRetryableError(
      'table_missing',
      `The table ${name} was dropped while Sluice created it; retry the run.`,
    );
  if (table.type !== 'TABLE')
    throw new NonRetryableError(
      'table_unsuitable',
      `${name} is of the kind ${table.type}, which accepts no rows; export to a table.`,
    );
  const fields = new Map(
    (table.schema?.fields ?? []).map((field) => [field.name.toLowerCase(), field]),
  );
  const missing = layout.columns
    .filter((column) => !fields.has(column.name.toLowerCase()))
    .map((column) => `${column.name} ${types[column.type].join(' or ')}`);
  requireNoneMissing(name, missing);
  const unfit = [
    ...layout.columns.flatMap((column) => misfitOf(column, fields)),
    ...unfilledFields(layout.columns, [...fields.values()]),
  ];
  if (unfit.length > 0)
    throw new NonRetryableError(
      'table_unsuitable',
      `The table ${name} cannot take the export: ${unfit.join('; ')}. Change it or export to ` +
        'another table.',
    );
}

function misfitOf(column: Column, fields: Map<string, Field>): string[] {
  const field = fields.get(column.name.toLowerCase());
  const isFit =
    field !== undefined && field.mode !== 'REPEATED' && types[column.type].includes(field.type);
  return isFit
    ? []
    : [
        `${column.name} must be ${types[column.type].join(' or ')} and is ` +
          `${field?.mode === 'REPEATED' ? 'repeated ' : ''}${field?.type}`,
      ];
}

function unfilledFields(columns: Column[], fields: Field[]): string[] {
  const names = new Set(columns.map((column) => column.name.toLowerCase()));
  return fields
    .filter(
      (field) =>
        field.mode === 'REQUIRED' &&
        field.defaultValueExpression === undefined &&
        !names.has(field.name.toLowerCase()),
    )
    .map((field) => `${field.name} is required, has no default, and the export does not have it`);
}
